"""Faults of one order's rows, of every write, of the broker's policies, and processes and standbys that are away unnoticed."""

import json
import pathlib

import psycopg2

from nemesis import OTHER, SERVER, fault

LOCKED_S = 8.0       # longer than the lock time-out of a statement
DAMAGED_S = 3.0      # shorter than the bound after which a scheduler sets a damaged order aside
REFUSED_S = 5.0
POLICY_S = 8.0
FROZEN_S = 30.0      # with the time after which a standstill is reported, and that of a busy machine
COMMITS_WAIT_S = 6.0
LOCK_TRIES = 20      # a trigger comes and goes under load
TABLES = ("orders", "order_process", "order_step", "order_event")
EVERY_CODE = ("54000", "54001", "0A000")
DEFINITIONS = pathlib.Path(__file__).resolve().parents[2] / "deploy" / "rabbitmq" / "definitions.json"
FOREIGN = ({"message-ttl": 1}, {"expires": 2000}, {"max-length": 1, "overflow": "drop-head"})
RAISE = """CREATE OR REPLACE FUNCTION chaos_raise() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'chaos refuses it' USING ERRCODE = TG_ARGV[0]; END $$"""


def execute(stage, *texts):
    """Under load a lock of a table may take some tries."""
    for number in range(LOCK_TRIES):
        side = stage.session()
        try:
            with side.cursor() as cursor:
                cursor.execute("SET lock_timeout = '2s'")
                for text in texts:
                    cursor.execute(text)
            return
        except psycopg2.Error:
            if number == LOCK_TRIES - 1:
                raise
        finally:
            side.close()


def open_order(stage):
    """The id of an order that moves."""
    found = stage.rows("SELECT order_id FROM order_process WHERE wake_at IS NOT NULL ORDER BY created_at DESC LIMIT 1")
    return found[0]["order_id"] if found else "none"


def mend_triggers(stage):
    """For mend.py, too."""
    execute(stage, *(f"DROP TRIGGER IF EXISTS chaos_raise ON {table}" for table in TABLES), "DROP FUNCTION IF EXISTS chaos_raise()")


@fault("database: one order's rows locked by somebody else", rows=(72,), measure=OTHER, touches=("database",))
def order_locked(stage, _dice):
    side = stage.session()
    with side.cursor() as cursor:
        cursor.execute("SET lock_timeout = '5s'")
        cursor.execute("SELECT 1 FROM order_process WHERE order_id = %s FOR UPDATE", (open_order(stage),))
        yield LOCKED_S
    side.close()


@fault("database: one order's rows damaged", rows=(74,), measure=OTHER, touches=("database",))
def order_damaged(stage, dice):
    code = dice.choice(("XX001", "XX002", "22P05"))
    execute(stage, RAISE, *(f"CREATE TRIGGER chaos_raise BEFORE INSERT OR UPDATE ON {table} FOR EACH ROW "
                            f"WHEN (NEW.order_id = '{open_order(stage)}') EXECUTE FUNCTION chaos_raise('{code}')"
                            for table in ("order_process", "order_step")))
    yield DAMAGED_S
    mend_triggers(stage)


@fault("database: every write refused as too large or not supported", rows=(71, 74), measure=SERVER, touches=("database",))
def writes_refused(stage, dice):
    """Codes that a message of its own may cause as well: none may be judged by them."""
    execute(stage, RAISE, f"CREATE TRIGGER chaos_raise BEFORE INSERT OR UPDATE ON {dice.choice(TABLES)} FOR EACH STATEMENT "
                          f"EXECUTE FUNCTION chaos_raise('{dice.choice(EVERY_CODE)}')")
    yield REFUSED_S
    mend_triggers(stage)


@fault("broker: a policy of others loses messages", rows=(61, 63), measure=SERVER, touches=("broker",))
def foreign_policy(stage, dice):
    """It is outranked by Makegood's own, which is part of the topology."""
    for own in json.loads(DEFINITIONS.read_text(encoding="utf-8"))["policies"]:
        stage.rabbit.ctl("set_policy", "--priority", str(own["priority"]), "--apply-to", own["apply-to"], own["name"], own["pattern"],
                         json.dumps(own["definition"]))
    stage.rabbit.ctl("set_policy", "--priority", "1", "--apply-to", "queues", "chaos", "^(orders|agent|scheduler)\\.",
                     json.dumps(dice.choice(FOREIGN)))
    yield POLICY_S
    stage.rabbit.ctl("clear_policy", "chaos")


@fault("scheduler: frozen, and reported", rows=(16,), measure=OTHER, touches=("scheduler",))
def scheduler_frozen(stage, dice):
    victim = stage.scheduler(dice)
    victim.pause()
    began = stage.rows("SELECT clock_timestamp() AS now")[0]["now"]
    yield FROZEN_S
    told = stage.rows("SELECT 1 FROM operator_alert WHERE code = 'standstill' AND (closed_at IS NULL OR closed_at > %s)", began)
    stage.unjudged += [] if told else [f"no alert names the standstill of {victim.name}, frozen for {FROZEN_S:g} s"]
    victim.resume()


@fault("database: its synchronous standby is gone", rows=(69,), measure=SERVER, touches=("database",))
def standby_gone(stage, _dice):
    stage.postgres.psql("ALTER SYSTEM SET synchronous_standby_names = 'gone'", "postgres")
    stage.postgres.psql("SELECT pg_reload_conf()", "postgres")
    stage.is_blind = True
    yield COMMITS_WAIT_S
    stage.postgres.psql("ALTER SYSTEM RESET synchronous_standby_names", "postgres")
    stage.postgres.psql("SELECT pg_reload_conf()", "postgres")
    stage.is_blind = False
