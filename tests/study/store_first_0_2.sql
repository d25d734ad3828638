-- The store of a study of three items as the first assay 0.2 made it (commit 6ab766a8): labels of zoe from a file,
-- and of Ana Ruiz two answers and a third item that lies before her.
BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0005_closed_and_excluded');
CREATE TABLE annotators (
	annotator TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	definition JSON NOT NULL, 
	active BOOLEAN NOT NULL, 
	PRIMARY KEY (annotator), 
	CHECK (kind in ('human', 'judge'))
);
INSERT INTO "annotators" VALUES('zoe','human','{}',1);
INSERT INTO "annotators" VALUES('Ana Ruiz','human','{}',1);
INSERT INTO "annotators" VALUES('Ben Okoro','human','{}',1);
CREATE TABLE answers (
	id INTEGER NOT NULL, 
	assignment INTEGER NOT NULL, 
	request_key TEXT NOT NULL, 
	revision INTEGER NOT NULL, 
	status TEXT NOT NULL, 
	label JSON, 
	reason TEXT, 
	comment TEXT, 
	reply TEXT, 
	reasoning TEXT, 
	shown JSON, 
	run INTEGER, 
	model TEXT, 
	fingerprint TEXT, 
	tokens_in INTEGER, 
	tokens_out INTEGER, 
	cost DOUBLE, 
	latency DOUBLE, 
	seconds DOUBLE, 
	answered_at DOUBLE NOT NULL, flag TEXT, 
	PRIMARY KEY (id), 
	FOREIGN KEY(assignment) REFERENCES assignments (id), 
	UNIQUE (request_key), 
	FOREIGN KEY(run) REFERENCES runs (id)
);
INSERT INTO "answers" VALUES(1,1,'1:1',1,'valid',2,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1795374050.0,NULL);
INSERT INTO "answers" VALUES(2,2,'2:1',1,'valid',5,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1795374050.0,NULL);
INSERT INTO "answers" VALUES(3,3,'page/1/1/key-1',1,'valid',2,NULL,NULL,NULL,NULL,'{"task": 1, "form": 1, "page": 1, "about": {"place": 1}}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1795374056.0,NULL);
INSERT INTO "answers" VALUES(4,4,'page/2/1/key-2',1,'valid',5,NULL,NULL,NULL,NULL,'{"task": 2, "form": 1, "page": 2, "about": {"place": 2}}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1795374058.0,NULL);
CREATE TABLE assignments (
	id INTEGER NOT NULL, 
	item TEXT NOT NULL, 
	question INTEGER NOT NULL, 
	annotator TEXT NOT NULL, 
	recipe TEXT NOT NULL, 
	condition TEXT NOT NULL, 
	repeat INTEGER NOT NULL, 
	shown JSON, 
	session TEXT, 
	status TEXT NOT NULL, 
	active BOOLEAN NOT NULL, 
	run INTEGER, 
	expires_at DOUBLE, 
	answer INTEGER, content TEXT, 
	PRIMARY KEY (id), 
	UNIQUE (item, question, annotator, recipe, condition, repeat), 
	CHECK (status in ('open', 'claimed', 'answered', 'missing', 'failed', 'withdrawn')), 
	FOREIGN KEY(item) REFERENCES items (item), 
	FOREIGN KEY(question) REFERENCES questions (id), 
	FOREIGN KEY(annotator) REFERENCES annotators (annotator), 
	FOREIGN KEY(run) REFERENCES runs (id)
);
INSERT INTO "assignments" VALUES(1,'r1',1,'zoe','','{}',1,NULL,'file','answered',1,NULL,NULL,1,'09c6e3a77e9d0ebf0b7b');
INSERT INTO "assignments" VALUES(2,'r2',1,'zoe','','{}',1,NULL,'file','answered',1,NULL,NULL,2,'5ede076de9fb21dcee25');
INSERT INTO "assignments" VALUES(3,'r3',1,'Ana Ruiz','page','{}',1,NULL,'page','answered',1,NULL,NULL,3,'6fcaed3e5c14a8a0894b');
INSERT INTO "assignments" VALUES(4,'r1',1,'Ana Ruiz','page','{}',1,NULL,'page','answered',1,NULL,NULL,4,'09c6e3a77e9d0ebf0b7b');
CREATE TABLE contents (
	item TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	document TEXT, 
	fields JSON NOT NULL, 
	kept_at DOUBLE NOT NULL, pictures JSON, 
	PRIMARY KEY (item, digest), 
	FOREIGN KEY(item) REFERENCES items (item)
);
CREATE TABLE drafts (
	task INTEGER NOT NULL, 
	revision INTEGER NOT NULL, 
	body JSON NOT NULL, 
	kept_at DOUBLE NOT NULL, 
	PRIMARY KEY (task), 
	FOREIGN KEY(task) REFERENCES tasks (id)
);
CREATE TABLE forms (
	id INTEGER NOT NULL, 
	digest TEXT NOT NULL, 
	definition JSON NOT NULL, 
	made_at DOUBLE NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (digest)
);
INSERT INTO "forms" VALUES(1,'482846a871a8e45febfd','{"instructions": "", "consent": "", "questions": [{"id": 1, "name": "stars", "version": 1, "reads": {"text": "How many stars", "scale": "1-5"}}], "hidden": [], "images": [], "together": false}',1795374050.0);
CREATE TABLE items (
	item TEXT NOT NULL, 
	position INTEGER NOT NULL, 
	document TEXT, 
	fields JSON NOT NULL, 
	digest TEXT NOT NULL, 
	active BOOLEAN NOT NULL, role TEXT DEFAULT 'item' NOT NULL, known JSON, pictures JSON, 
	PRIMARY KEY (item)
);
INSERT INTO "items" VALUES('r1',0,NULL,'{"review": "cold soup"}','09c6e3a77e9d0ebf0b7b',1,'item',NULL,'{}');
INSERT INTO "items" VALUES('r2',1,NULL,'{"review": "lovely evening"}','5ede076de9fb21dcee25',1,'item',NULL,'{}');
INSERT INTO "items" VALUES('r3',2,NULL,'{"review": "slow service"}','6fcaed3e5c14a8a0894b',1,'item',NULL,'{}');
CREATE TABLE people (
	annotator TEXT NOT NULL, 
	link INTEGER NOT NULL, 
	state TEXT NOT NULL, 
	invited_at DOUBLE NOT NULL, 
	consented_at DOUBLE, 
	consented_to TEXT, 
	seen_at DOUBLE, closed INTEGER DEFAULT '0' NOT NULL, excluded_at DOUBLE, excluded_for TEXT, 
	PRIMARY KEY (annotator), 
	CHECK (state in ('active', 'paused', 'revoked')), 
	FOREIGN KEY(annotator) REFERENCES annotators (annotator)
);
INSERT INTO "people" VALUES('Ana Ruiz',1,'active',1795374050.0,NULL,NULL,NULL,0,NULL,NULL);
INSERT INTO "people" VALUES('Ben Okoro',1,'active',1795374050.0,NULL,NULL,NULL,0,NULL,NULL);
CREATE TABLE prompts (
	fingerprint TEXT NOT NULL, 
	body TEXT NOT NULL, 
	PRIMARY KEY (fingerprint)
);
CREATE TABLE questions (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	version INTEGER NOT NULL, 
	definition JSON NOT NULL, 
	digest TEXT NOT NULL, 
	current BOOLEAN NOT NULL, 
	made_at DOUBLE NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (name, version)
);
INSERT INTO "questions" VALUES(1,'stars',1,'{"name": "stars", "text": "How many stars", "scale": "1-5", "guidelines": "", "meanings": {}, "show": null, "options": [], "order": null, "optional": false, "keys": {}, "by_scale": {}}','a875eb17d81679076bcb',1,1795374050.0);
CREATE TABLE runs (
	id INTEGER NOT NULL, 
	host TEXT NOT NULL, 
	process TEXT NOT NULL, 
	started_at DOUBLE NOT NULL, 
	seen_at DOUBLE NOT NULL, 
	ended_at DOUBLE, 
	cost DOUBLE DEFAULT '0' NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE same_requests (
	annotator TEXT NOT NULL, 
	recipe TEXT NOT NULL, 
	same_as TEXT NOT NULL, 
	PRIMARY KEY (annotator, recipe), 
	FOREIGN KEY(annotator) REFERENCES annotators (annotator)
);
CREATE TABLE settings (
	"key" TEXT NOT NULL, 
	value JSON NOT NULL, 
	PRIMARY KEY ("key")
);
INSERT INTO "settings" VALUES('labels'' columns not kept','[]');
INSERT INTO "settings" VALUES('labels without item',0);
INSERT INTO "settings" VALUES('study','{"name": "Stars", "items": {"file": "items.csv"}, "questions": [{"name": "stars", "text": "How many stars", "scale": "1-5"}], "people": {"overlap": 2}, "labels": "labels.csv"}');
INSERT INTO "settings" VALUES('taken in','"22086916eb38cd785e74ffce75f28c7c1c71f8b0e301c71dbc9b0fab7f7dca4f"');
INSERT INTO "settings" VALUES('page''s secret','"a secret for tests alone, 32 signs"');
INSERT INTO "settings" VALUES('page''s study','"af0c368142f333ca"');
CREATE TABLE tasks (
	id INTEGER NOT NULL, 
	annotator TEXT NOT NULL, 
	item TEXT NOT NULL, 
	questions TEXT NOT NULL, 
	condition TEXT NOT NULL, 
	repeat INTEGER NOT NULL, 
	role TEXT NOT NULL, 
	party TEXT NOT NULL, 
	session INTEGER NOT NULL, 
	page INTEGER NOT NULL, 
	place INTEGER NOT NULL, 
	state TEXT NOT NULL, 
	extra BOOLEAN NOT NULL, 
	form INTEGER NOT NULL, 
	shown JSON NOT NULL, 
	given_at DOUBLE NOT NULL, 
	expires_at DOUBLE NOT NULL, 
	closed_at DOUBLE, 
	PRIMARY KEY (id), 
	UNIQUE (annotator, questions, condition, item, repeat), 
	UNIQUE (annotator, place), 
	CHECK (state in ('given', 'answered', 'skipped', 'reopened')), 
	FOREIGN KEY(annotator) REFERENCES people (annotator), 
	FOREIGN KEY(item) REFERENCES items (item), 
	FOREIGN KEY(form) REFERENCES forms (id)
);
INSERT INTO "tasks" VALUES(1,'Ana Ruiz','r3','[1]','{}',1,'item','',1,1,1,'answered',0,1,'{"item": "6fcaed3e5c14a8a0894b", "order": {}}',1795374056.0,1795375856.0,1795374056.0);
INSERT INTO "tasks" VALUES(2,'Ana Ruiz','r1','[1]','{}',1,'item','',1,2,2,'answered',0,1,'{"item": "09c6e3a77e9d0ebf0b7b", "order": {}}',1795374056.0,1795375856.0,1795374058.0);
INSERT INTO "tasks" VALUES(3,'Ana Ruiz','r2','[1]','{}',1,'item','',1,3,3,'given',0,1,'{"item": "5ede076de9fb21dcee25", "order": {}}',1795374058.0,1795375858.0,NULL);
CREATE TABLE wordings (
	question INTEGER NOT NULL, 
	digest TEXT NOT NULL, 
	definition JSON NOT NULL, 
	made_at DOUBLE NOT NULL, 
	PRIMARY KEY (question, digest), 
	FOREIGN KEY(question) REFERENCES questions (id)
);
INSERT INTO "wordings" VALUES(1,'76592e137a331f5b046f','{"name": "stars", "text": "How many stars", "scale": "1-5", "guidelines": "", "meanings": {}, "show": null, "options": [], "order": null, "optional": false, "keys": {}, "by_scale": {}}',1795374050.0);
CREATE INDEX assignments_to_do ON assignments (status, id);
CREATE INDEX ix_answers_assignment ON answers (assignment);
CREATE INDEX tasks_of_item ON tasks (item, questions, condition);
COMMIT;
