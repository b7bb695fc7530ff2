-- serves programs from schema 1
--
-- Two versions of the programs side by side. A program runs on a schema that is newer than itself as long as the schema
-- serves it: the line above, which every file of this folder begins with, is the oldest. `makegood db migrate` keeps it
-- in makegood_migration, where programs of schema 2 and later look.
--
-- Programs of schema 1 look at makegood_schema, run on version 1 only, and refuse anything higher. They are shown
-- version 1, until a migration comes that does not serve them.

DROP TABLE IF EXISTS makegood_schema; -- `makegood db migrate` has taken over what it said

CREATE VIEW makegood_schema AS
SELECT version, name, sha256, applied_at
  FROM makegood_migration
 WHERE version = 1 OR serves_from > 1;
