BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0002');
CREATE TABLE annotators (
	annotator TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	definition JSON NOT NULL, 
	active BOOLEAN NOT NULL, 
	PRIMARY KEY (annotator), 
	CHECK (kind in ('human', 'judge'))
);
INSERT INTO "annotators" VALUES('plain','judge','{"name": "plain", "model": "", "provider": "recorded", "base_url": null, "key": null, "file": "replies.jsonl", "strategy": "zero-shot", "prompt": null, "demonstrations": {"count": 4, "use": "cross-fitted", "label": null, "folds": 5}, "temperature": null, "repeats": 1, "seed": 0, "max_tokens": null, "structured": "auto", "params": {}, "price": null}',1);
INSERT INTO "annotators" VALUES('shots','judge','{"name": "shots", "model": "", "provider": "recorded", "base_url": null, "key": null, "file": "replies.jsonl", "strategy": "few-shot", "prompt": null, "demonstrations": {"count": 2, "use": "cross-fitted", "label": null, "folds": 2}, "temperature": null, "repeats": 1, "seed": 0, "max_tokens": null, "structured": "auto", "params": {}, "price": null}',1);
INSERT INTO "annotators" VALUES('ben','human','{}',1);
INSERT INTO "annotators" VALUES('ana','human','{}',1);
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
INSERT INTO "answers" VALUES(1,1,'1:1',1,'valid',1,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.79530124062567186362e+09,NULL);
INSERT INTO "answers" VALUES(2,2,'2:1',1,'valid',2,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.79530124064144897466e+09,NULL);
INSERT INTO "answers" VALUES(3,3,'3:1',1,'valid',3,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.79530124065948700905e+09,NULL);
INSERT INTO "answers" VALUES(4,4,'4:1',1,'valid',4,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.79530124066096425055e+09,NULL);
INSERT INTO "answers" VALUES(5,5,'5:1',1,'valid',5,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.79530124066209673889e+09,NULL);
INSERT INTO "answers" VALUES(6,6,'6:1',1,'valid',1,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.79530124067204308515e+09,NULL);
INSERT INTO "answers" VALUES(7,7,'7:1',1,'valid',1,NULL,NULL,'{"label": 1}',NULL,NULL,1,'plain','316aa3dc1eb7deab75a4349f0ab0f3930b8530adee90f4a3a6c5e44a69385587',NULL,NULL,0.0,0.0,NULL,1.79530124157932496073e+09,NULL);
INSERT INTO "answers" VALUES(8,8,'8:1',1,'valid',2,NULL,NULL,'{"label": 2}',NULL,NULL,1,'shots','37a72ee8c9cc57b5881e3629a1065d4cbb4cc0ad89653fd5d3e40ac693787555',NULL,NULL,0.0,0.0,NULL,1.79530124158041524884e+09,NULL);
INSERT INTO "answers" VALUES(9,9,'9:1',1,'valid',2,NULL,NULL,'{"label": 2}',NULL,NULL,1,'plain','fd84e9fd5d3f00fcece7ae3c982868c95461bcf4f05cdbed2a9aaed11381de94',NULL,NULL,0.0,0.0,NULL,1.79530124158636355397e+09,NULL);
INSERT INTO "answers" VALUES(10,10,'10:1',1,'valid',3,NULL,NULL,'{"label": 3}',NULL,NULL,1,'shots','58dc61cb612d4b18748f21aaf9104c2b3dd307d0de7d37090ab793412775a665',NULL,NULL,0.0,0.0,NULL,1.79530124158680725104e+09,NULL);
INSERT INTO "answers" VALUES(11,11,'11:1',1,'valid',3,NULL,NULL,'{"label": 3}',NULL,NULL,1,'plain','c73b0edf888db3c4b7fc8be0bd099088176b5963af8ab6b9bd107367498230cb',NULL,NULL,0.0,0.0,NULL,1.79530124158698081967e+09,NULL);
INSERT INTO "answers" VALUES(12,12,'12:1',1,'valid',4,NULL,NULL,'{"label": 4}',NULL,NULL,1,'shots','abc75b8e8cd12f4be3f8ab3088d8d828a09c669ca364721ba9d01f90b0b35141',NULL,NULL,0.0,0.0,NULL,1.79530124158714318271e+09,NULL);
INSERT INTO "answers" VALUES(13,13,'13:1',1,'valid',4,NULL,NULL,'{"label": 4}',NULL,NULL,1,'plain','edaf998399a83e08f21e24615a3c944c90ba2f9549bba4bc99eb51492c9432b4',NULL,NULL,0.0,0.0,NULL,1.79530124158735132221e+09,NULL);
INSERT INTO "answers" VALUES(14,14,'14:1',1,'valid',5,NULL,NULL,'{"label": 5}',NULL,NULL,1,'shots','5200658f52b52ed9e8695b2bbe05259c722cbee0ebe67a7c88adc7796daa79c2',NULL,NULL,0.0,0.0,NULL,1.7953012417625267505e+09,NULL);
INSERT INTO "answers" VALUES(15,15,'15:1',1,'valid',5,NULL,NULL,'{"label": 5}',NULL,NULL,1,'plain','b15f4bd489bf66450aa4dfc65f0405137bf5c9caa266bc744ce27224a57dff7c',NULL,NULL,0.0,0.0,NULL,1.79530124176537299153e+09,NULL);
INSERT INTO "answers" VALUES(16,16,'16:1',1,'valid',1,NULL,NULL,'{"label": 1}',NULL,NULL,1,'shots','935ca5067c12aa25f2eec4cdeffc71dec973dd1cce885c498edd5acaeb3cce29',NULL,NULL,0.0,0.0,NULL,1.79530124177066898348e+09,NULL);
INSERT INTO "answers" VALUES(17,17,'17:1',1,'valid',1,NULL,NULL,'{"label": 1}',NULL,NULL,1,'plain','af84e19b8cf2a0bced17d7820372835abc19e937bef16e5bdef3c9f63d350eb2',NULL,NULL,0.0,0.0,NULL,1.79530124177241039271e+09,NULL);
INSERT INTO "answers" VALUES(18,18,'18:1',1,'valid',2,NULL,NULL,'{"label": 2}',NULL,NULL,1,'shots','28b0e962573512da1c60d6d9d37ba9b46e5c55d9b85af1ee74e69af9c6d360f0',NULL,NULL,0.0,0.0,NULL,1.7953012417767386437e+09,NULL);
INSERT INTO "answers" VALUES(19,19,'page/1/1/05ca75dd-c6b2-0a97-9726-06eac1e9372d',1,'valid',1,NULL,NULL,NULL,NULL,'{"task": 1, "form": 1, "page": 1, "about": {"place": 1}}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.5,1.79530124557424354556e+09,NULL);
INSERT INTO "answers" VALUES(20,20,'page/2/1/1bd9a101-8554-30d3-73f9-4bd82290d52a',1,'valid',3,NULL,NULL,NULL,NULL,'{"task": 2, "form": 1, "page": 2, "about": {"place": 2}}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.5,1.79530124566233253479e+09,NULL);
INSERT INTO "answers" VALUES(21,1,'1:2',2,'withdrawn',NULL,'no longer in the file of labels',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.79530124593830680852e+09,NULL);
INSERT INTO "answers" VALUES(22,2,'2:2',2,'withdrawn',NULL,'no longer in the file of labels',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.79530124595322012901e+09,NULL);
INSERT INTO "answers" VALUES(23,3,'3:2',2,'withdrawn',NULL,'no longer in the file of labels',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.79530124595460224149e+09,NULL);
INSERT INTO "answers" VALUES(24,4,'4:2',2,'withdrawn',NULL,'no longer in the file of labels',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.79530124597623920446e+09,NULL);
INSERT INTO "answers" VALUES(25,5,'5:2',2,'withdrawn',NULL,'no longer in the file of labels',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.79530124597761225695e+09,NULL);
INSERT INTO "answers" VALUES(26,6,'6:2',2,'withdrawn',NULL,'no longer in the file of labels',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.79530124598811197285e+09,NULL);
INSERT INTO "answers" VALUES(27,21,'21:1',1,'valid',1,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.79530124598961186412e+09,NULL);
INSERT INTO "answers" VALUES(28,22,'22:1',1,'valid',2,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.79530124599089598654e+09,NULL);
INSERT INTO "answers" VALUES(29,23,'23:1',1,'valid',3,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.79530124601075386997e+09,NULL);
INSERT INTO "answers" VALUES(30,24,'24:1',1,'valid',4,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.79530124602053761479e+09,NULL);
INSERT INTO "answers" VALUES(31,25,'25:1',1,'valid',5,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.79530124602184510233e+09,NULL);
INSERT INTO "answers" VALUES(32,26,'26:1',1,'valid',1,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1795301246.02299,NULL);
INSERT INTO "answers" VALUES(33,27,'27:1',1,'valid',1,NULL,NULL,'{"label": 1}',NULL,NULL,2,'plain','2f8249c7eca36727e2dc5699602f8560a030b2b9c01f9ba155aeb36f55332d76',NULL,NULL,0.0,0.0,NULL,1.79530124629580283166e+09,NULL);
INSERT INTO "answers" VALUES(34,28,'28:1',1,'valid',2,NULL,NULL,'{"label": 2}',NULL,NULL,2,'shots','6cea49f5e0c04970abbbedc29141c054fdd3c11850545b3e5b3a242a3c57ab3f',NULL,NULL,0.0,0.0,NULL,1.79530124629660081865e+09,NULL);
INSERT INTO "answers" VALUES(35,29,'29:1',1,'valid',2,NULL,NULL,'{"label": 2}',NULL,NULL,2,'plain','41758421c55b5acc09dfd26ee747c162114bb6e1c61caf940ceba42e94f0dac1',NULL,NULL,0.0,0.0,NULL,1.79530124629683756828e+09,NULL);
INSERT INTO "answers" VALUES(36,30,'30:1',1,'valid',3,NULL,NULL,'{"label": 3}',NULL,NULL,2,'shots','cf3a45e36f37869ec039b8bc87bc4f7740056706d9b96a3425ee4d6dce8dba95',NULL,NULL,0.0,0.0,NULL,1.79530124629703044893e+09,NULL);
INSERT INTO "answers" VALUES(37,31,'31:1',1,'valid',3,NULL,NULL,'{"label": 3}',NULL,NULL,2,'plain','93eafe258309840c2fcf41d5e6c7854a37cd999fc9e29203d84a7255dfe1015e',NULL,NULL,0.0,0.0,NULL,1.79530124629722046851e+09,NULL);
INSERT INTO "answers" VALUES(38,32,'32:1',1,'valid',4,NULL,NULL,'{"label": 4}',NULL,NULL,2,'shots','f8d39ba1b74665c9009209d9f0b861b42b588f8bf8843134fbbba13ea291df03',NULL,NULL,0.0,0.0,NULL,1.79530124629741454122e+09,NULL);
INSERT INTO "answers" VALUES(39,33,'33:1',1,'valid',4,NULL,NULL,'{"label": 4}',NULL,NULL,2,'plain','1b59624d4cb0b572c531da1f5064806dd5c2c396465562de9f60ce20eb85c34d',NULL,NULL,0.0,0.0,NULL,1.79530124629763293271e+09,NULL);
INSERT INTO "answers" VALUES(40,34,'34:1',1,'valid',5,NULL,NULL,'{"label": 5}',NULL,NULL,2,'shots','8d6547c68e4524d711569782739dcc26c48ad381bfc8c046ea424c119c7f15d1',NULL,NULL,0.0,0.0,NULL,1.79530124629782795913e+09,NULL);
INSERT INTO "answers" VALUES(41,35,'35:1',1,'valid',5,NULL,NULL,'{"label": 5}',NULL,NULL,2,'plain','f4a55ae9dc149a2732e19d913668ca54ea004453e340c442c4b1c4f00a6538b6',NULL,NULL,0.0,0.0,NULL,1.79530124629801821709e+09,NULL);
INSERT INTO "answers" VALUES(42,36,'36:1',1,'valid',1,NULL,NULL,'{"label": 1}',NULL,NULL,2,'shots','9ff564ce684d24e8d9bceef2a49ba7ad2fea8b1c4aff8b75c55ea0850a84871a',NULL,NULL,0.0,0.0,NULL,1.79530124629821419713e+09,NULL);
INSERT INTO "answers" VALUES(43,37,'37:1',1,'valid',1,NULL,NULL,'{"label": 1}',NULL,NULL,2,'plain','61520dff6438a2cb59d5340da4926e233bf0439ad5eacf477c19411333a11938',NULL,NULL,0.0,0.0,NULL,1.79530124629842686651e+09,NULL);
INSERT INTO "answers" VALUES(44,38,'38:1',1,'valid',2,NULL,NULL,'{"label": 2}',NULL,NULL,2,'shots','95d56428f7e00d5957c3001ad289419e74c4d7960602e369bf69e79ab7c3c4b9',NULL,NULL,0.0,0.0,NULL,1.7953012462986519337e+09,NULL);
INSERT INTO "answers" VALUES(45,39,'page/6/2/c7bc2597-976e-0229-d686-71ea47add720',1,'valid',3,NULL,NULL,NULL,NULL,'{"task": 6, "form": 2, "page": 6, "about": {"place": 6}}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.5,1.79530124766148066516e+09,NULL);
INSERT INTO "answers" VALUES(46,21,'21:2',2,'withdrawn',NULL,'no longer in the file of labels',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.79530124800823068622e+09,NULL);
INSERT INTO "answers" VALUES(47,22,'22:2',2,'withdrawn',NULL,'no longer in the file of labels',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.79530124801176190372e+09,NULL);
INSERT INTO "answers" VALUES(48,23,'23:2',2,'withdrawn',NULL,'no longer in the file of labels',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.79530124801300168036e+09,NULL);
INSERT INTO "answers" VALUES(49,24,'24:2',2,'withdrawn',NULL,'no longer in the file of labels',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.79530124801405310637e+09,NULL);
INSERT INTO "answers" VALUES(50,25,'25:2',2,'withdrawn',NULL,'no longer in the file of labels',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.79530124801508450503e+09,NULL);
INSERT INTO "answers" VALUES(51,26,'26:2',2,'withdrawn',NULL,'no longer in the file of labels',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.79530124803111314777e+09,NULL);
INSERT INTO "answers" VALUES(52,40,'40:1',1,'valid',1,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.79530124803665947917e+09,NULL);
INSERT INTO "answers" VALUES(53,41,'41:1',1,'valid',2,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.79530124803744554513e+09,NULL);
INSERT INTO "answers" VALUES(54,42,'42:1',1,'valid',3,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.79530124804677391047e+09,NULL);
INSERT INTO "answers" VALUES(55,43,'43:1',1,'valid',4,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.7953012480554604531e+09,NULL);
INSERT INTO "answers" VALUES(56,44,'44:1',1,'valid',5,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.79530124805694723134e+09,NULL);
INSERT INTO "answers" VALUES(57,45,'45:1',1,'valid',1,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.79530124805814146997e+09,NULL);
INSERT INTO "answers" VALUES(58,46,'46:1',1,'valid',1,NULL,NULL,'{"label": 1}',NULL,NULL,3,'plain','316aa3dc1eb7deab75a4349f0ab0f3930b8530adee90f4a3a6c5e44a69385587',NULL,NULL,0.0,0.0,NULL,1.79530124845150184636e+09,NULL);
INSERT INTO "answers" VALUES(59,47,'47:1',1,'valid',2,NULL,NULL,'{"label": 2}',NULL,NULL,3,'shots','37a72ee8c9cc57b5881e3629a1065d4cbb4cc0ad89653fd5d3e40ac693787555',NULL,NULL,0.0,0.0,NULL,1.79530124845295166969e+09,NULL);
INSERT INTO "answers" VALUES(60,48,'48:1',1,'valid',2,NULL,NULL,'{"label": 2}',NULL,NULL,3,'plain','fd84e9fd5d3f00fcece7ae3c982868c95461bcf4f05cdbed2a9aaed11381de94',NULL,NULL,0.0,0.0,NULL,1.79530124845555496214e+09,NULL);
INSERT INTO "answers" VALUES(61,49,'49:1',1,'valid',3,NULL,NULL,'{"label": 3}',NULL,NULL,3,'shots','58dc61cb612d4b18748f21aaf9104c2b3dd307d0de7d37090ab793412775a665',NULL,NULL,0.0,0.0,NULL,1.7953012484566090107e+09,NULL);
INSERT INTO "answers" VALUES(62,50,'50:1',1,'valid',3,NULL,NULL,'{"label": 3}',NULL,NULL,3,'plain','c73b0edf888db3c4b7fc8be0bd099088176b5963af8ab6b9bd107367498230cb',NULL,NULL,0.0,0.0,NULL,1.79530124846651720996e+09,NULL);
INSERT INTO "answers" VALUES(63,51,'51:1',1,'valid',4,NULL,NULL,'{"label": 4}',NULL,NULL,3,'shots','abc75b8e8cd12f4be3f8ab3088d8d828a09c669ca364721ba9d01f90b0b35141',NULL,NULL,0.0,0.0001,NULL,1.79530124846730041506e+09,NULL);
INSERT INTO "answers" VALUES(64,52,'52:1',1,'valid',4,NULL,NULL,'{"label": 4}',NULL,NULL,3,'plain','edaf998399a83e08f21e24615a3c944c90ba2f9549bba4bc99eb51492c9432b4',NULL,NULL,0.0,0.0,NULL,1.79530124846792197221e+09,NULL);
INSERT INTO "answers" VALUES(65,53,'53:1',1,'valid',5,NULL,NULL,'{"label": 5}',NULL,NULL,3,'shots','5200658f52b52ed9e8695b2bbe05259c722cbee0ebe67a7c88adc7796daa79c2',NULL,NULL,0.0,0.0,NULL,1.79530124847158503538e+09,NULL);
INSERT INTO "answers" VALUES(66,54,'54:1',1,'valid',5,NULL,NULL,'{"label": 5}',NULL,NULL,3,'plain','b15f4bd489bf66450aa4dfc65f0405137bf5c9caa266bc744ce27224a57dff7c',NULL,NULL,0.0,0.0,NULL,1.7953012484753367901e+09,NULL);
INSERT INTO "answers" VALUES(67,55,'55:1',1,'valid',1,NULL,NULL,'{"label": 1}',NULL,NULL,3,'shots','935ca5067c12aa25f2eec4cdeffc71dec973dd1cce885c498edd5acaeb3cce29',NULL,NULL,0.0,0.0,NULL,1.79530124848069334029e+09,NULL);
INSERT INTO "answers" VALUES(68,56,'56:1',1,'valid',1,NULL,NULL,'{"label": 1}',NULL,NULL,3,'plain','af84e19b8cf2a0bced17d7820372835abc19e937bef16e5bdef3c9f63d350eb2',NULL,NULL,0.0,0.0001,NULL,1.79530124848125481606e+09,NULL);
INSERT INTO "answers" VALUES(69,57,'57:1',1,'valid',2,NULL,NULL,'{"label": 2}',NULL,NULL,3,'shots','28b0e962573512da1c60d6d9d37ba9b46e5c55d9b85af1ee74e69af9c6d360f0',NULL,NULL,0.0,0.0,NULL,1.79530124848850631711e+09,NULL);
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
	answer INTEGER, 
	PRIMARY KEY (id), 
	UNIQUE (item, question, annotator, recipe, condition, repeat), 
	CHECK (status in ('open', 'claimed', 'answered', 'missing', 'failed', 'withdrawn')), 
	FOREIGN KEY(item) REFERENCES items (item), 
	FOREIGN KEY(question) REFERENCES questions (id), 
	FOREIGN KEY(annotator) REFERENCES annotators (annotator), 
	FOREIGN KEY(run) REFERENCES runs (id)
);
INSERT INTO "assignments" VALUES(1,'i0',1,'ben','','{}',1,NULL,'file','withdrawn',1,NULL,NULL,21);
INSERT INTO "assignments" VALUES(2,'i1',1,'ben','','{}',1,NULL,'file','withdrawn',1,NULL,NULL,22);
INSERT INTO "assignments" VALUES(3,'i2',1,'ben','','{}',1,NULL,'file','withdrawn',1,NULL,NULL,23);
INSERT INTO "assignments" VALUES(4,'i3',1,'ben','','{}',1,NULL,'file','withdrawn',1,NULL,NULL,24);
INSERT INTO "assignments" VALUES(5,'i4',1,'ben','','{}',1,NULL,'file','withdrawn',1,NULL,NULL,25);
INSERT INTO "assignments" VALUES(6,'i5',1,'ben','','{}',1,NULL,'file','withdrawn',1,NULL,NULL,26);
INSERT INTO "assignments" VALUES(7,'i0',1,'plain','457300846c57a821bb43','{}',1,NULL,NULL,'answered',0,1,NULL,7);
INSERT INTO "assignments" VALUES(8,'i0',1,'shots','7f384dfff8af3a7fe920','{}',1,NULL,NULL,'answered',0,1,NULL,8);
INSERT INTO "assignments" VALUES(9,'i1',1,'plain','d7b8982cdd9162f88ce1','{}',1,NULL,NULL,'answered',0,1,NULL,9);
INSERT INTO "assignments" VALUES(10,'i1',1,'shots','b41b2afdaa5362f6a11b','{}',1,NULL,NULL,'answered',0,1,NULL,10);
INSERT INTO "assignments" VALUES(11,'i2',1,'plain','0748995ef41b96ed2087','{}',1,NULL,NULL,'answered',0,1,NULL,11);
INSERT INTO "assignments" VALUES(12,'i2',1,'shots','5708af7d2a3064f3a5d5','{}',1,NULL,NULL,'answered',0,1,NULL,12);
INSERT INTO "assignments" VALUES(13,'i3',1,'plain','9f4d7d34e0c28c62324a','{}',1,NULL,NULL,'answered',0,1,NULL,13);
INSERT INTO "assignments" VALUES(14,'i3',1,'shots','0412a59e602b99fe7e38','{}',1,NULL,NULL,'answered',0,1,NULL,14);
INSERT INTO "assignments" VALUES(15,'i4',1,'plain','d57dfa35b01d6a84afa7','{}',1,NULL,NULL,'answered',0,1,NULL,15);
INSERT INTO "assignments" VALUES(16,'i4',1,'shots','6030f084bda384501b65','{}',1,NULL,NULL,'answered',0,1,NULL,16);
INSERT INTO "assignments" VALUES(17,'i5',1,'plain','9ef859b4897fd09388f4','{}',1,NULL,NULL,'answered',0,1,NULL,17);
INSERT INTO "assignments" VALUES(18,'i5',1,'shots','47ed755d13ac39b064aa','{}',1,NULL,NULL,'answered',0,1,NULL,18);
INSERT INTO "assignments" VALUES(19,'i4',1,'ana','page','{}',1,NULL,'page','answered',1,NULL,NULL,19);
INSERT INTO "assignments" VALUES(20,'i5',1,'ana','page','{}',1,NULL,'page','answered',1,NULL,NULL,20);
INSERT INTO "assignments" VALUES(21,'i0',2,'ben','','{}',1,NULL,'file','withdrawn',1,NULL,NULL,46);
INSERT INTO "assignments" VALUES(22,'i1',2,'ben','','{}',1,NULL,'file','withdrawn',1,NULL,NULL,47);
INSERT INTO "assignments" VALUES(23,'i2',2,'ben','','{}',1,NULL,'file','withdrawn',1,NULL,NULL,48);
INSERT INTO "assignments" VALUES(24,'i3',2,'ben','','{}',1,NULL,'file','withdrawn',1,NULL,NULL,49);
INSERT INTO "assignments" VALUES(25,'i4',2,'ben','','{}',1,NULL,'file','withdrawn',1,NULL,NULL,50);
INSERT INTO "assignments" VALUES(26,'i5',2,'ben','','{}',1,NULL,'file','withdrawn',1,NULL,NULL,51);
INSERT INTO "assignments" VALUES(27,'i0',2,'plain','457300846c57a821bb43','{}',1,NULL,NULL,'answered',0,2,NULL,33);
INSERT INTO "assignments" VALUES(28,'i0',2,'shots','7f384dfff8af3a7fe920','{}',1,NULL,NULL,'answered',0,2,NULL,34);
INSERT INTO "assignments" VALUES(29,'i1',2,'plain','d7b8982cdd9162f88ce1','{}',1,NULL,NULL,'answered',0,2,NULL,35);
INSERT INTO "assignments" VALUES(30,'i1',2,'shots','b41b2afdaa5362f6a11b','{}',1,NULL,NULL,'answered',0,2,NULL,36);
INSERT INTO "assignments" VALUES(31,'i2',2,'plain','0748995ef41b96ed2087','{}',1,NULL,NULL,'answered',0,2,NULL,37);
INSERT INTO "assignments" VALUES(32,'i2',2,'shots','5708af7d2a3064f3a5d5','{}',1,NULL,NULL,'answered',0,2,NULL,38);
INSERT INTO "assignments" VALUES(33,'i3',2,'plain','9f4d7d34e0c28c62324a','{}',1,NULL,NULL,'answered',0,2,NULL,39);
INSERT INTO "assignments" VALUES(34,'i3',2,'shots','0412a59e602b99fe7e38','{}',1,NULL,NULL,'answered',0,2,NULL,40);
INSERT INTO "assignments" VALUES(35,'i4',2,'plain','d57dfa35b01d6a84afa7','{}',1,NULL,NULL,'answered',0,2,NULL,41);
INSERT INTO "assignments" VALUES(36,'i4',2,'shots','6030f084bda384501b65','{}',1,NULL,NULL,'answered',0,2,NULL,42);
INSERT INTO "assignments" VALUES(37,'i5',2,'plain','9ef859b4897fd09388f4','{}',1,NULL,NULL,'answered',0,2,NULL,43);
INSERT INTO "assignments" VALUES(38,'i5',2,'shots','47ed755d13ac39b064aa','{}',1,NULL,NULL,'answered',0,2,NULL,44);
INSERT INTO "assignments" VALUES(39,'i4',2,'ana','page','{}',1,NULL,'page','answered',1,NULL,NULL,45);
INSERT INTO "assignments" VALUES(40,'i0',3,'ben','','{}',1,NULL,'file','answered',1,NULL,NULL,52);
INSERT INTO "assignments" VALUES(41,'i1',3,'ben','','{}',1,NULL,'file','answered',1,NULL,NULL,53);
INSERT INTO "assignments" VALUES(42,'i2',3,'ben','','{}',1,NULL,'file','answered',1,NULL,NULL,54);
INSERT INTO "assignments" VALUES(43,'i3',3,'ben','','{}',1,NULL,'file','answered',1,NULL,NULL,55);
INSERT INTO "assignments" VALUES(44,'i4',3,'ben','','{}',1,NULL,'file','answered',1,NULL,NULL,56);
INSERT INTO "assignments" VALUES(45,'i5',3,'ben','','{}',1,NULL,'file','answered',1,NULL,NULL,57);
INSERT INTO "assignments" VALUES(46,'i0',3,'plain','457300846c57a821bb43','{}',1,NULL,NULL,'answered',1,3,NULL,58);
INSERT INTO "assignments" VALUES(47,'i0',3,'shots','7f384dfff8af3a7fe920','{}',1,NULL,NULL,'answered',1,3,NULL,59);
INSERT INTO "assignments" VALUES(48,'i1',3,'plain','d7b8982cdd9162f88ce1','{}',1,NULL,NULL,'answered',1,3,NULL,60);
INSERT INTO "assignments" VALUES(49,'i1',3,'shots','b41b2afdaa5362f6a11b','{}',1,NULL,NULL,'answered',1,3,NULL,61);
INSERT INTO "assignments" VALUES(50,'i2',3,'plain','0748995ef41b96ed2087','{}',1,NULL,NULL,'answered',1,3,NULL,62);
INSERT INTO "assignments" VALUES(51,'i2',3,'shots','5708af7d2a3064f3a5d5','{}',1,NULL,NULL,'answered',1,3,NULL,63);
INSERT INTO "assignments" VALUES(52,'i3',3,'plain','9f4d7d34e0c28c62324a','{}',1,NULL,NULL,'answered',1,3,NULL,64);
INSERT INTO "assignments" VALUES(53,'i3',3,'shots','0412a59e602b99fe7e38','{}',1,NULL,NULL,'answered',1,3,NULL,65);
INSERT INTO "assignments" VALUES(54,'i4',3,'plain','d57dfa35b01d6a84afa7','{}',1,NULL,NULL,'answered',1,3,NULL,66);
INSERT INTO "assignments" VALUES(55,'i4',3,'shots','6030f084bda384501b65','{}',1,NULL,NULL,'answered',1,3,NULL,67);
INSERT INTO "assignments" VALUES(56,'i5',3,'plain','9ef859b4897fd09388f4','{}',1,NULL,NULL,'answered',1,3,NULL,68);
INSERT INTO "assignments" VALUES(57,'i5',3,'shots','47ed755d13ac39b064aa','{}',1,NULL,NULL,'answered',1,3,NULL,69);
CREATE TABLE contents (
	item TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	document TEXT, 
	fields JSON NOT NULL, 
	kept_at DOUBLE NOT NULL, 
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
INSERT INTO "forms" VALUES(1,'562202a10a10f853f303','{"instructions": "", "consent": "", "questions": [{"id": 1, "name": "quality", "version": 1}], "hidden": ["doc"], "images": [], "together": false}',1.79530124324946379664e+09);
INSERT INTO "forms" VALUES(2,'0177a473a3221baae293','{"instructions": "", "consent": "", "questions": [{"id": 2, "name": "quality", "version": 2}], "hidden": ["doc"], "images": [], "together": false}',1.7953012464062106609e+09);
CREATE TABLE items (
	item TEXT NOT NULL, 
	position INTEGER NOT NULL, 
	document TEXT, 
	fields JSON NOT NULL, 
	digest TEXT NOT NULL, 
	active BOOLEAN NOT NULL, role TEXT DEFAULT 'item' NOT NULL, known JSON, 
	PRIMARY KEY (item)
);
INSERT INTO "items" VALUES('i0',0,'d0','{"text": "Text 0.", "doc": "d0", "note": "n"}','5658949a2a0aac65790f',1,'item',NULL);
INSERT INTO "items" VALUES('i1',1,'d1','{"text": "Text 1.", "doc": "d1", "note": "n"}','53a95bdbb265b89d63c3',1,'item',NULL);
INSERT INTO "items" VALUES('i2',2,'d2','{"text": "Text 2.", "doc": "d2", "note": "n"}','fe2f5f8f27a0240a6e09',1,'item',NULL);
INSERT INTO "items" VALUES('i3',3,'d3','{"text": "Text 3.", "doc": "d3", "note": "n"}','023b813d5a92053ff674',1,'item',NULL);
INSERT INTO "items" VALUES('i4',4,'d4','{"text": "Text 4.", "doc": "d4", "note": "n"}','8cea6ab4c0d58cc11ae2',1,'item',NULL);
INSERT INTO "items" VALUES('i5',5,'d5','{"text": "Text 5.", "doc": "d5", "note": "n"}','cde3bcd427f45fba9bac',1,'item',NULL);
CREATE TABLE people (
	annotator TEXT NOT NULL, 
	link INTEGER NOT NULL, 
	state TEXT NOT NULL, 
	invited_at DOUBLE NOT NULL, 
	consented_at DOUBLE, 
	consented_to TEXT, 
	seen_at DOUBLE, 
	PRIMARY KEY (annotator), 
	CHECK (state in ('active', 'paused', 'revoked')), 
	FOREIGN KEY(annotator) REFERENCES annotators (annotator)
);
INSERT INTO "people" VALUES('ana',1,'active',1.79530124342436814312e+09,NULL,NULL,NULL);
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
INSERT INTO "questions" VALUES(1,'quality',1,'{"name": "quality", "text": "How good is it?", "scale": "1-5", "guidelines": "", "meanings": {}, "show": ["text"], "options": [], "order": null, "optional": false, "keys": {}}','89e54f760b95e4d8388e',0,1.7953012404065885544e+09);
INSERT INTO "questions" VALUES(2,'quality',2,'{"name": "quality", "text": "How very good is it?", "scale": "1-5", "guidelines": "", "meanings": {}, "show": ["text"], "options": [], "order": null, "optional": false, "keys": {}}','e50e08dcd78934d862b8',0,1.79530124582268214221e+09);
INSERT INTO "questions" VALUES(3,'quality',3,'{"name": "quality", "text": "How good is it?", "scale": "1-5", "guidelines": "", "meanings": {}, "show": ["text"], "options": [], "order": null, "optional": false, "keys": {}}','89e54f760b95e4d8388e',1,1.79530124785524082186e+09);
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
INSERT INTO "runs" VALUES(1,'somewhere','7174:1252487',1.79530124101924324036e+09,1.79530124101924324036e+09,1.79530124178791189188e+09,0.0);
INSERT INTO "runs" VALUES(2,'somewhere','7174:1252487',1.79530124616699433325e+09,1.79530124616699433325e+09,1.79530124629980516429e+09,0.0);
INSERT INTO "runs" VALUES(3,'somewhere','7174:1252487',1.79530124819969820982e+09,1.79530124819969820982e+09,1.79530124850033569335e+09,0.0);
CREATE TABLE settings (
	"key" TEXT NOT NULL, 
	value JSON NOT NULL, 
	PRIMARY KEY ("key")
);
INSERT INTO "settings" VALUES('labels'' columns not kept','[]');
INSERT INTO "settings" VALUES('labels without item',0);
INSERT INTO "settings" VALUES('taken in','"7cf1fa30dd1a15da383c76e8563ef57b15e3f6e73fc005bf4d81fa566e74518e"');
INSERT INTO "settings" VALUES('demonstrations/shots/1/8a16e8538e31e5ea0a8c','{"folds": {"0": [["i3", 4], ["i1", 2]], "1": [["i2", 3], ["i4", 5]]}, "documents": []}');
INSERT INTO "settings" VALUES('plan','"a4d9d8da197634c36b96"');
INSERT INTO "settings" VALUES('demonstrations/shots/2/8a16e8538e31e5ea0a8c','{"folds": {"0": [["i3", 4], ["i1", 2]], "1": [["i2", 3], ["i4", 5]]}, "documents": []}');
INSERT INTO "settings" VALUES('demonstrations/shots/3/8a16e8538e31e5ea0a8c','{"folds": {"0": [["i3", 4], ["i1", 2]], "1": [["i2", 3], ["i4", 5]]}, "documents": []}');
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
INSERT INTO "tasks" VALUES(1,'ana','i4','[1]','{}',1,'item','',1,1,1,'answered',0,1,'{"item": "8cea6ab4c0d58cc11ae2", "order": {}}',1.79530124413032054903e+09,1.79530304413032054905e+09,1.79530124557424354556e+09);
INSERT INTO "tasks" VALUES(2,'ana','i5','[1]','{}',1,'item','',1,2,2,'answered',0,1,'{"item": "cde3bcd427f45fba9bac", "order": {}}',1.79530124413032054903e+09,1.79530304413032054905e+09,1.79530124566233253479e+09);
INSERT INTO "tasks" VALUES(3,'ana','i3','[1]','{}',1,'item','',1,3,3,'given',0,1,'{"item": "023b813d5a92053ff674", "order": {}}',1.79530124413032054903e+09,1.79530304413032054905e+09,NULL);
INSERT INTO "tasks" VALUES(4,'ana','i2','[1]','{}',1,'item','',1,4,4,'given',0,1,'{"item": "fe2f5f8f27a0240a6e09", "order": {}}',1.79530124413032054903e+09,1.79530304413032054905e+09,NULL);
INSERT INTO "tasks" VALUES(5,'ana','i1','[1]','{}',1,'item','',1,5,5,'given',0,1,'{"item": "53a95bdbb265b89d63c3", "order": {}}',1.79530124413032054903e+09,1.79530304413032054905e+09,NULL);
INSERT INTO "tasks" VALUES(6,'ana','i4','[2]','{}',1,'item','',1,6,6,'answered',0,2,'{"item": "8cea6ab4c0d58cc11ae2", "order": {}}',1.79530124668829679486e+09,1.79530304668829679493e+09,1.79530124766148066516e+09);
INSERT INTO "tasks" VALUES(7,'ana','i5','[2]','{}',1,'item','',1,7,7,'given',0,2,'{"item": "cde3bcd427f45fba9bac", "order": {}}',1.79530124668829679486e+09,1.79530304668829679493e+09,NULL);
INSERT INTO "tasks" VALUES(8,'ana','i3','[2]','{}',1,'item','',1,8,8,'given',0,2,'{"item": "023b813d5a92053ff674", "order": {}}',1.79530124668829679486e+09,1.79530304668829679493e+09,NULL);
INSERT INTO "tasks" VALUES(9,'ana','i2','[2]','{}',1,'item','',1,9,9,'given',0,2,'{"item": "fe2f5f8f27a0240a6e09", "order": {}}',1.79530124668829679486e+09,1.79530304668829679493e+09,NULL);
INSERT INTO "tasks" VALUES(10,'ana','i1','[2]','{}',1,'item','',1,10,10,'given',0,2,'{"item": "53a95bdbb265b89d63c3", "order": {}}',1.79530124668829679486e+09,1.79530304668829679493e+09,NULL);
CREATE INDEX assignments_to_do ON assignments (status, id);
CREATE INDEX ix_answers_assignment ON answers (assignment);
CREATE INDEX tasks_of_item ON tasks (item, questions, condition);
COMMIT;
