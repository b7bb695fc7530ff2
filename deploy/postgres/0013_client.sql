-- serves programs from schema 1
--
-- Whose order it is: the client that posted it, proved by the exchange makegood.intake.<client> that it came through. ''
-- stands for the namespace of those who post through an exchange that proves no client.
--
-- NULL: a program of schema 12 or below stored it. The first that posts the same bytes again becomes its client, by a
-- further revision with the same payload.

ALTER TABLE orders ADD COLUMN client text;
