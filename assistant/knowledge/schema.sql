-- One generation of the knowledge: documents, their passages, what was left out. Written once, then only read.
CREATE TABLE IF NOT EXISTS document (
    key      TEXT PRIMARY KEY,           -- id, and @version where there is one, within its source
    id       TEXT NOT NULL,
    source   TEXT NOT NULL,
    version  TEXT NOT NULL,              -- '' where there is none
    hash     TEXT NOT NULL,              -- of everything that its passages are made from
    content  BLOB NOT NULL               -- the document as MessagePack
);
CREATE INDEX IF NOT EXISTS document_of_source ON document (source, version, id);

CREATE TABLE IF NOT EXISTS passage (
    id       TEXT PRIMARY KEY,           -- 8 characters
    row      INTEGER UNIQUE,             -- number of its vector and of its tokens in the indexes
    document TEXT NOT NULL REFERENCES document (key),
    position INTEGER NOT NULL,           -- within the document
    content  BLOB NOT NULL,              -- the passage as MessagePack
    hash     TEXT NOT NULL,              -- of the text that is embedded
    tokens   TEXT NOT NULL               -- of BM25, separated by spaces
);
CREATE INDEX IF NOT EXISTS passage_of_document ON passage (document, position);

CREATE TABLE IF NOT EXISTS dropped (
    document TEXT NOT NULL,
    reason   TEXT NOT NULL,
    words    TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS dropped_of_document ON dropped (document);

CREATE TABLE IF NOT EXISTS scrubbed (  -- how much was taken out of a document; never what
    document TEXT NOT NULL,
    kind     TEXT NOT NULL,
    count    INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS scrubbed_of_document ON scrubbed (document);

CREATE TABLE IF NOT EXISTS fact (      -- embedder, sizes, counts of what was scrubbed, time of the last run
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
