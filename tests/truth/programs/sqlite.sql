-- One round of work: about 0.3 s. Trees, sorting, strings, aggregates, triggers, JSON, recursive queries.
DROP TABLE IF EXISTS item;
DROP TABLE IF EXISTS total;
CREATE TABLE item (id INTEGER PRIMARY KEY, class INTEGER, name TEXT, price REAL, note TEXT);
CREATE TABLE total (class INTEGER PRIMARY KEY, n INTEGER, price REAL);
CREATE TRIGGER add_item AFTER INSERT ON item BEGIN
	INSERT INTO total VALUES (new.class, 1, new.price)
		ON CONFLICT (class) DO UPDATE SET n = n + 1, price = price + new.price;
END;
INSERT INTO item SELECT value, abs(random()) % 500, hex(randomblob(8)), abs(random() % 100000) / 100.0,
	json_object('rank', value, 'tags', json_array(hex(randomblob(4)), value % 7)) FROM generate_series(1, 20000);
CREATE INDEX item_name ON item (name);
CREATE INDEX item_class ON item (class, price DESC);
SELECT count(*), sum(length(name)) FROM (SELECT a.name FROM item a JOIN item b ON a.class = b.class AND a.id < b.id WHERE a.name < b.name);
SELECT class, group_concat(name), avg(price) FROM item WHERE name LIKE '%A1%' GROUP BY class ORDER BY 3 LIMIT 1;
SELECT sum(json_extract(note, '$.rank')), max(json_extract(note, '$.tags[0]')) FROM item;
WITH RECURSIVE path(id, depth, text) AS (
	SELECT 1, 0, '1' UNION ALL SELECT id * 3 % 20011, depth + 1, substr(text || ',' || id, -200) FROM path WHERE depth < 20000)
	SELECT max(length(text)), sum(length(replace(text, '1', 'one'))) FROM path;
SELECT name, price, rank() OVER (PARTITION BY class ORDER BY price), sum(price) OVER (ORDER BY name ROWS 50 PRECEDING) AS s
	FROM item ORDER BY s LIMIT 1;
UPDATE item SET name = lower(name) || printf('%08.2f', price) WHERE id % 3 = 0;
DELETE FROM item WHERE note GLOB '*[0-3]F*';
