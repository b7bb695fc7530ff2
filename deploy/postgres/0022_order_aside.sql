-- serves programs from schema 1
--
-- Orders that are set aside: by schedulers, because the database refuses one of their rows again and again, or by an
-- operator. While the row is there, schedulers keep what comes for the order in dead.letters and supervisors leave it out.

CREATE TABLE order_aside (
    order_id text COLLATE "C" PRIMARY KEY,   -- no reference: the order's rows may be unreadable
    since    timestamptz NOT NULL DEFAULT clock_timestamp(),
    by_whom  text NOT NULL,                  -- an operator, as they named themselves, or a scheduler's instance
    reason   text NOT NULL
);

ALTER DOMAIN makegood_alert DROP CONSTRAINT makegood_alert_word;
-- All that is there was checked against fewer words: the tables need not be read.
ALTER DOMAIN makegood_alert ADD CONSTRAINT makegood_alert_word CHECK (VALUE IN (
        'order_error', 'outcome_unknown', 'undo_failed', 'state_lost', 'polls_failing', 'unpublishable', 'poisoned',
        'set_aside', 'dead_letter', 'mass_expiry', 'slow_sweep', 'invariant_violation', 'bulk_stopped', 'newer_version',
        'retention_stands', 'statuses_given_up')) NOT VALID;

-- Its alert, by the owner's right, whoever writes the row.
CREATE FUNCTION makegood_aside_alert() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO operator_alert (code, subject, order_id, text)
        VALUES ('set_aside', NEW.order_id, NEW.order_id, 'set aside by ' || NEW.by_whom || ': ' || NEW.reason)
        ON CONFLICT (code, subject) WHERE closed_at IS NULL DO NOTHING;
    ELSE
        UPDATE operator_alert SET closed_at = clock_timestamp()
         WHERE code = 'set_aside' AND subject = OLD.order_id AND closed_at IS NULL;
    END IF;
    RETURN NULL;
END $$;
DO $$ BEGIN
    EXECUTE format('ALTER FUNCTION makegood_aside_alert() SET search_path = %I, pg_temp', current_schema());
END $$;
CREATE TRIGGER aside_alert AFTER INSERT OR DELETE ON order_aside
    FOR EACH ROW EXECUTE FUNCTION makegood_aside_alert();
