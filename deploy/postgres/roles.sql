-- Makegood's roles and its database. Run once, by a superuser, with psql (and again after a change: it sets everything
-- anew and does no harm):
--
--   MAKEGOOD_PASSWORD_FOLDER=/run/secrets/postgres psql -X -f roles.sql postgres
--
-- The folder holds one file a role, named as the role: makegood_owner, makegood_scheduler, … with its password in the
-- first line. A role without a file keeps the password that it has, at first none: then it can log in only with a
-- client certificate, if pg_hba.conf allows that. `-v database=NAME` gives the database another name.
--
-- The roles:
--   makegood_owner       owns the database and all in it; `makegood db migrate` runs as this role, nothing else does
--   makegood_scheduler   the schedulers' role
--   makegood_supervisor  the supervisors' role
--   makegood_operator    the operator's tool
--   makegood_gateway     the gateways: reads the orders' states, outputs and causes, and no payload; changes nothing
--   makegood_reader      people and reports: reads everything, changes nothing
-- Agents have no role. The rights on each table are in grants.sql, which every `makegood db migrate` applies.

\set ON_ERROR_STOP on
\if :{?database}
\else
    \set database makegood
\endif

-- A password must not get into the server's log or statistics, under any of their settings.
SET log_statement = 'none';
SET log_min_duration_statement = -1;
SET log_min_duration_sample = -1;
SET log_transaction_sample_rate = 0;
SET log_min_error_statement = 'panic';
SET track_activities = off;
SET pg_stat_statements.track = 'none';
SET pgaudit.log = 'none';
SET password_encryption = 'scram-sha-256';

\set owner      `head -n 1 "$MAKEGOOD_PASSWORD_FOLDER/makegood_owner"      2>/dev/null || true`
\set scheduler  `head -n 1 "$MAKEGOOD_PASSWORD_FOLDER/makegood_scheduler"  2>/dev/null || true`
\set supervisor `head -n 1 "$MAKEGOOD_PASSWORD_FOLDER/makegood_supervisor" 2>/dev/null || true`
\set operator   `head -n 1 "$MAKEGOOD_PASSWORD_FOLDER/makegood_operator"   2>/dev/null || true`
\set gateway    `head -n 1 "$MAKEGOOD_PASSWORD_FOLDER/makegood_gateway"    2>/dev/null || true`
\set reader     `head -n 1 "$MAKEGOOD_PASSWORD_FOLDER/makegood_reader"     2>/dev/null || true`

-- Sessions: of the 97 that PostgreSQL gives by default, so that no role can take those of the others. A scheduler (one is
-- of heartbeats), a supervisor, a gateway and a console have two. After a cut line the server keeps the old ones for up to
-- 11 s (keepalives), so there is room for twice the processes. More than 10 schedulers: raise it here, and max_connections
-- with it.
CREATE TEMPORARY TABLE wanted_role (name text, password text, session_limit integer);
INSERT INTO wanted_role VALUES
    ('makegood_owner',      :'owner',       4),
    ('makegood_scheduler',  :'scheduler',  40),
    ('makegood_supervisor', :'supervisor', 12),
    ('makegood_operator',   :'operator',   16),
    ('makegood_gateway',    :'gateway',    12),
    ('makegood_reader',     :'reader',     12);

SELECT format('CREATE ROLE %I', name) FROM wanted_role WHERE to_regrole(name) IS NULL \gexec
SELECT format('ALTER ROLE %I LOGIN NOINHERIT NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS'
              ' CONNECTION LIMIT %s', name, session_limit) FROM wanted_role \gexec
SELECT format('ALTER ROLE %I PASSWORD %L', name, password) FROM wanted_role WHERE password <> '' \gexec
SELECT format('%s has no password', rolname) AS note FROM pg_authid JOIN wanted_role ON name = rolname
 WHERE rolpassword IS NULL;

-- Orders hold any text, hence UTF8. The locale C has no versions that a new system library could change.
SELECT format('CREATE DATABASE %I OWNER makegood_owner TEMPLATE template0 ENCODING ''UTF8'' LOCALE ''C''', :'database')
 WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = :'database') \gexec
ALTER DATABASE :"database" OWNER TO makegood_owner;
REVOKE ALL ON DATABASE :"database" FROM PUBLIC; -- CONNECT and TEMPORARY
GRANT CONNECT ON DATABASE :"database" TO makegood_scheduler, makegood_supervisor, makegood_operator, makegood_gateway,
    makegood_reader;

-- A migration that changes keys ends the sessions of programs that began before. NOINHERIT: the owner gets no rights by it.
GRANT makegood_scheduler, makegood_supervisor, makegood_operator, makegood_gateway, makegood_reader TO makegood_owner;

-- Names resolve to the tables of this schema only, not to objects that another role makes elsewhere.
ALTER DATABASE :"database" SET search_path = public, pg_temp;

-- Limits for sessions of other programs under these roles. The services set the same limits in each session of their own,
-- and the supervisor an idle time-out for the session in which it leads. The reader's limits leave room for a long report.
-- A longer session would hold back the removal of dead rows, and the tables would grow.
ALTER ROLE makegood_owner IN DATABASE :"database" SET lock_timeout = '5s'; -- a migration must not block all other sessions
ALTER ROLE makegood_owner IN DATABASE :"database" SET statement_timeout = '1h'; -- building an index
ALTER ROLE makegood_owner IN DATABASE :"database" SET idle_in_transaction_session_timeout = '1min';
ALTER ROLE makegood_scheduler IN DATABASE :"database" SET lock_timeout = '2s';
ALTER ROLE makegood_scheduler IN DATABASE :"database" SET statement_timeout = '10s';
ALTER ROLE makegood_scheduler IN DATABASE :"database" SET idle_in_transaction_session_timeout = '5s';
ALTER ROLE makegood_supervisor IN DATABASE :"database" SET lock_timeout = '2s';
ALTER ROLE makegood_supervisor IN DATABASE :"database" SET statement_timeout = '10s';
ALTER ROLE makegood_supervisor IN DATABASE :"database" SET idle_in_transaction_session_timeout = '5s';
ALTER ROLE makegood_operator IN DATABASE :"database" SET lock_timeout = '2s';
ALTER ROLE makegood_operator IN DATABASE :"database" SET statement_timeout = '1min';
ALTER ROLE makegood_operator IN DATABASE :"database" SET idle_in_transaction_session_timeout = '10s';
ALTER ROLE makegood_gateway IN DATABASE :"database" SET lock_timeout = '2s';
ALTER ROLE makegood_gateway IN DATABASE :"database" SET statement_timeout = '10s';
ALTER ROLE makegood_gateway IN DATABASE :"database" SET idle_in_transaction_session_timeout = '5s';
ALTER ROLE makegood_reader IN DATABASE :"database" SET lock_timeout = '2s';
ALTER ROLE makegood_reader IN DATABASE :"database" SET statement_timeout = '1min';
ALTER ROLE makegood_reader IN DATABASE :"database" SET idle_in_transaction_session_timeout = '1min';
ALTER ROLE makegood_reader IN DATABASE :"database" SET default_transaction_read_only = on;

-- A client that vanishes without closing its connection is detected after 5 s of silence and 3 probes 2 s apart, or after
-- 10 s of unacknowledged data.
ALTER DATABASE :"database" SET tcp_keepalives_idle = 5;
ALTER DATABASE :"database" SET tcp_keepalives_interval = 2;
ALTER DATABASE :"database" SET tcp_keepalives_count = 3;
ALTER DATABASE :"database" SET tcp_user_timeout = '10s';

\connect :"database"
ALTER SCHEMA public OWNER TO makegood_owner;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO makegood_scheduler, makegood_supervisor, makegood_operator, makegood_gateway, makegood_reader;
