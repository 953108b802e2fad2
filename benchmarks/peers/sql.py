"""The questions in SQL, as DuckDB and Spark both read it. An id is a place in time order, so `min(id)` is the first.

sequence     equality and range joins, each followed by the least id: the first that fits
brute_force  islands between logins, failures that are too old for the island's login left out
rising       an island begins at each payment that does not rise; the next island's first payment ends it
absence      NOT EXISTS
correlation  two joins on the session
v_shape      islands of one direction; a rising one after a falling one
"""

from __future__ import annotations

SEQUENCE = """
WITH logins AS (SELECT id, user_id, time FROM events WHERE type = 'Login'),
payments AS (SELECT id, user_id, time, amount FROM events WHERE type = 'Payment'),
started AS (
    SELECT l.id AS login, l.time AS time, min(p.id) AS payment
    FROM logins l JOIN payments p
        ON p.user_id = l.user_id AND p.id > l.id AND p.time <= l.time + INTERVAL 1 DAY
    WHERE p.amount > 700 GROUP BY l.id, l.time
)
SELECT s.login AS a, s.payment AS b, min(q.id) AS c
FROM started s JOIN payments p ON p.id = s.payment
JOIN payments q ON q.user_id = p.user_id AND q.id > p.id AND q.amount > p.amount
WHERE q.time <= s.time + INTERVAL 1 DAY GROUP BY s.login, s.payment
"""

BRUTE_FORCE = """
WITH tries AS (
    SELECT id, user_id, time, type,
        sum(CASE WHEN type = 'Login' THEN 1 ELSE 0 END) OVER (
            PARTITION BY user_id ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) - CASE WHEN type = 'Login' THEN 1 ELSE 0 END AS island
    FROM events WHERE type IN ('Login', 'LoginFailed')
)
SELECT min(f.id) AS a, l.id AS b, max(f.id) AS c
FROM tries l JOIN tries f ON f.user_id = l.user_id AND f.island = l.island
WHERE l.type = 'Login' AND f.type = 'LoginFailed' AND f.time >= l.time - INTERVAL 1 HOUR
GROUP BY l.id HAVING count(*) >= 3
"""

RISING = """
WITH payments AS (
    SELECT id, user_id, amount, lag(amount) OVER (PARTITION BY user_id ORDER BY id) AS previous
    FROM events WHERE type = 'Payment'
),
marked AS (
    SELECT id, user_id, sum(CASE WHEN amount > previous THEN 0 ELSE 1 END) OVER (
        PARTITION BY user_id ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS island FROM payments
),
islands AS (
    SELECT user_id, min(id) AS first_id, max(id) AS last_id, count(*) - 1 AS rises FROM marked GROUP BY user_id, island
),
closed AS (
    SELECT first_id, last_id, rises, lead(first_id) OVER (PARTITION BY user_id ORDER BY first_id) AS closing
    FROM islands
)
SELECT first_id AS a, closing AS b, last_id AS c FROM closed WHERE rises >= 3 AND closing IS NOT NULL
"""

ABSENCE = """
SELECT o.id AS a FROM events o
WHERE o.type = 'Order' AND NOT EXISTS (
    SELECT 1 FROM events c
    WHERE c.type = 'Confirm' AND c.user_id = o.user_id AND c.order_id = o.order_id
        AND c.id > o.id AND c.time <= o.time + INTERVAL 1 HOUR
)
"""

CORRELATION = """
SELECT s.id AS a, c.id AS b, b.id AS c
FROM events s
JOIN events c ON c.session = s.session AND c.id > s.id
JOIN events b ON b.session = s.session AND b.id > c.id
WHERE s.type = 'Search' AND c.type = 'Click' AND b.type = 'Buy' AND b.time <= s.time + INTERVAL 10 MINUTE
"""

V_SHAPE = """
WITH ticks AS (
    SELECT id, symbol, coalesce(sign(price - lag(price) OVER (PARTITION BY symbol ORDER BY id)), 0) AS way
    FROM events WHERE type = 'Tick'
),
turns AS (
    SELECT id, symbol, way,
        CASE WHEN way = lag(way) OVER (PARTITION BY symbol ORDER BY id) THEN 0 ELSE 1 END AS turned
    FROM ticks
),
marked AS (
    SELECT id, symbol, way, sum(turned) OVER (
        PARTITION BY symbol ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS island FROM turns
),
islands AS (
    SELECT symbol, min(way) AS way, min(id) AS first_id, max(id) AS last_id, count(*) AS steps
    FROM marked GROUP BY symbol, island
),
neighbours AS (
    SELECT way, steps,
        lag(way) OVER w AS way_before, lag(steps) OVER w AS steps_before,
        lag(last_id) OVER w AS bottom, lag(last_id, 2) OVER w AS top, lead(first_id) OVER w AS closing
    FROM islands WINDOW w AS (PARTITION BY symbol ORDER BY first_id)
)
SELECT top AS a, bottom AS b, closing AS c FROM neighbours
WHERE way = 1 AND steps >= 3 AND way_before = -1 AND steps_before >= 3 AND closing IS NOT NULL
"""

TEXTS = {
    "sequence": SEQUENCE,
    "brute_force": BRUTE_FORCE,
    "rising": RISING,
    "absence": ABSENCE,
    "correlation": CORRELATION,
    "v_shape": V_SHAPE,
}
