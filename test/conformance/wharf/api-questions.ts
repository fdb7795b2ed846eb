// What wharf-api is asked, in an order in which each question finds something: the same of a released one, whose answers are in `testdata`, and of ours.

/** One question and how its answer is looked at. */
export interface Question {
  /** Unlike any other one's. */
  readonly name: string;
  readonly method: string;
  /** With its query. */
  readonly path: string;
  /** Sent as JSON, a text or a form as it is. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Of a list only how many there are, and which by this member, in their order. */
  readonly by?: string;
}

type More = Pick<Question, "body" | "headers" | "by">;

const ask = (method: string, path: string, name: string, more: More = {}): Question => ({
  name: `${method} ${path}: ${name}`,
  method,
  path,
  ...more,
});
const get = (path: string, name = "as it is", more: More = {}): Question => ask("GET", path, name, more);
const post = (path: string, body: unknown, name: string): Question => ask("POST", path, name, { body });
const put = (path: string, body: unknown, name: string): Question => ask("PUT", path, name, { body });
const listed = (path: string, by: string, ...queries: readonly string[]): readonly Question[] =>
  queries.map((query) => get(`${path}?${query}`, "which", { by }));

/** A form with files under a name. */
function formOf(field: string, ...files: readonly (readonly [fileName: string, content: string])[]): FormData {
  const form = new FormData();
  for (const [fileName, content] of files) form.append(field, new File([content], fileName));
  return form;
}

const meta: readonly Question[] = [
  ...["/", "/health", "/api/ping", "/api/health", "/api/version", "/api/engine"].map((path) => get(path)),
  get("/api/ping?pretty", "for people"),
  ask("GET", "/api/ping", "in a terminal", { headers: { "user-agent": "curl/8.0.0" } }),
  get("/api/nothing", "a path that nobody serves"),
  ask("DELETE", "/api/build/1", "a method that nobody serves"),
  ...["/api/project", "/api/build", "/api/provider", "/api/token"].map((path) => get(path, "nothing yet")),
];

const tokens: readonly Question[] = [
  post("/api/token", { token: "s3cret", userName: "ann" }, "both members"),
  post("/api/token", { token: "other", userName: null, providerId: 0 }, "null and 0 for nothing"),
  post("/api/token", "{", "no JSON"),
  post("/api/token", undefined, "no body"),
  post("/api/token", [], "a list"),
  post("/api/token", { token: 5 }, "a number for a text"),
  post("/api/token", { token: "third", providerId: 99 }, "a provider that is not there"),
  get("/api/token/1"),
  get("/api/token/99", "not there"),
  get("/api/token/x", "no number"),
  put("/api/token/2", { token: "newer", userName: "bob" }, "others instead"),
  put("/api/token/99", { token: "newer" }, "not there"),
  get("/api/token"),
  ...listed(
    "/api/token",
    "tokenId",
    "userName=ann",
    "userNameMatch=B",
    "orderby=userName%20desc",
    "orderby=secret%20asc",
  ),
];

const providers: readonly Question[] = [
  post("/api/provider", { name: "gitlab", url: "https://gitlab.example" }, "without a token"),
  post("/api/provider", { name: "github", url: "https://github.example", tokenId: 1 }, "with a token"),
  post("/api/provider", { name: "svn", url: "https://svn.example" }, "of no known name"),
  post("/api/provider", { name: "gitlab" }, "without an address"),
  post("/api/provider", { name: "gitlab", url: "https://gitlab.example", tokenId: -1 }, "a number below 0"),
  post("/api/provider", { name: "gitlab", url: "https://gitlab.example", tokenId: 99 }, "a token that is not there"),
  get("/api/provider/2"),
  get("/api/provider/99", "not there"),
  get("/api/provider/x", "no number"),
  put("/api/provider/1", { name: "azuredevops", url: "https://dev.example", tokenId: 2 }, "others instead"),
  put("/api/provider/1", { name: "svn", url: "https://svn.example" }, "of no known name"),
  put("/api/provider/1", { name: "gitlab", url: "https://gitlab.example", tokenId: 99 }, "a token that is not there"),
  put("/api/provider/99", { name: "gitlab", url: "https://gitlab.example" }, "not there"),
  post("/api/token", { token: "of-provider", userName: "cy", providerId: 2 }, "for a provider"),
  get("/api/provider/2", "with a token that came later"),
  get("/api/provider"),
  ...listed(
    "/api/provider",
    "providerId",
    "name=github",
    "url=https://dev.example",
    "nameMatch=HUB",
    "match=example",
    "name=github&nameMatch=hub",
    "orderby=name%20asc",
    "orderby=tokenId%20asc",
  ),
];

const definition = [
  "inputs:",
  "  - {name: level, type: choice, values: [low, high], default: low}",
  "  - {name: count, type: number, default: 3}",
  "build:",
  "  web: {container: {image: busybox, cmds: [echo]}}",
  "",
].join("\n");
const beta = {
  name: "beta",
  groupName: "Tools",
  description: "the second",
  avatarUrl: "https://a.example/b.png",
  tokenId: 1,
  providerId: 1,
  buildDefinition: definition,
  gitUrl: "https://git.example/tools/beta.git",
  remoteProjectId: "77",
};

const projects: readonly Question[] = [
  post("/api/project", { name: "alpha" }, "only a name"),
  post("/api/project", beta, "all members"),
  post("/api/project", { name: "gamma", groupName: null, tokenId: 0, more: 1 }, "null, 0, and a member nobody knows"),
  post("/api/project", { name: "delta", buildDefinition: "a: [" }, "a definition that cannot be read"),
  post("/api/project", {}, "without a name"),
  post("/api/project", { name: "" }, "an empty name"),
  post("/api/project", { name: 5 }, "a number for a text"),
  post("/api/project", { name: "e", tokenId: "1" }, "a text for a number"),
  post("/api/project", { name: "e", tokenId: -1 }, "a number below 0"),
  post("/api/project", "{", "no JSON"),
  post("/api/project", undefined, "no body"),
  post("/api/project", { name: "e", tokenId: 99 }, "a token that is not there"),
  post("/api/project", { name: "e", providerId: 99 }, "a provider that is not there"),
  get("/api/project/2"),
  get("/api/project/99", "not there"),
  get("/api/project/x", "no number"),
  get("/api/project/-1", "below 0"),
  put("/api/project/1", { name: "alpha", description: "the first", gitUrl: "https://git.example/alpha.git" }, "others"),
  put("/api/project/1", {}, "without a name"),
  put("/api/project/99", { name: "e" }, "not there"),
  get("/api/project"),
  ...listed(
    "/api/project",
    "projectId",
    "name=beta",
    "name=",
    "groupName=Tools",
    "groupName=tools",
    "gitUrl=https://git.example/alpha.git",
    "tokenId=1",
    "tokenId=0",
    "tokenId=",
    "tokenId=x",
    "providerId=1",
    "nameMatch=ALP",
    "nameMatch=",
    "nameMatch=a_",
    "groupNameMatch=tool",
    "descriptionMatch=FIRST",
    "gitUrlMatch=example",
    "name=beta&nameMatch=bet",
    "match=tools",
    "match=",
    "nothing=1",
    "orderby=name%20asc",
    "orderby=name%20desc",
    "orderby=name%20ASC",
    "orderby=name",
    "orderby=remoteProjectId%20asc",
    "orderby=groupName%20asc&orderby=projectId%20desc",
    "orderby=",
    "limit=2",
    "limit=2&offset=1",
    "limit=2&offset=99",
    "limit=0",
    "limit=-1",
    "limit=",
    "limit=x",
    "offset=1",
    "limit=0&offset=1",
    "limit=&offset=1",
    "limit=2&offset=-1",
    "limit=2&offset=x",
  ),
];

const overridesAndBranches: readonly Question[] = [
  get("/api/project/2/override", "nothing said"),
  put("/api/project/2/override", { description: "ours", gitUrl: "https://git.example/ours.git" }, "two members"),
  get("/api/project/2/override"),
  get("/api/project/2", "with overrides"),
  ...listed("/api/project", "projectId", "descriptionMatch=ours", "descriptionMatch=second"),
  put("/api/project/2/override", { description: 5 }, "a number for a text"),
  ask("DELETE", "/api/project/2/override", "what was said"),
  ask("DELETE", "/api/project/2/override", "nothing"),
  get("/api/project/99/override", "not there"),
  put("/api/project/99/override", { description: "ours" }, "not there"),
  ask("DELETE", "/api/project/99/override", "not there"),
  get("/api/project/2/branch", "none"),
  post("/api/project/2/branch", { name: "dev" }, "one"),
  post("/api/project/2/branch", { name: "main", default: true }, "the default"),
  post("/api/project/2/branch", { name: "dev", default: true }, "one that is there becomes the default"),
  post("/api/project/2/branch", { name: 5 }, "a number for a text"),
  post("/api/project/99/branch", { name: "dev" }, "of no project"),
  get("/api/project/2/branch"),
  put("/api/project/2/branch", { defaultBranch: "main", branches: [{ name: "main" }, { name: "new" }] }, "others"),
  put("/api/project/2/branch", { branches: "main" }, "a text for a list"),
  put("/api/project/99/branch", { branches: [] }, "of no project"),
  get("/api/project/99/branch", "of no project"),
  get("/api/project/2/branch", "after others came"),
  put("/api/project/3/branch", { defaultBranch: "", branches: [{ name: "only" }] }, "without a default"),
  get("/api/project/3/branch", "without a default"),
  get("/api/project/2", "with branches"),
  put(
    "/api/project/3/branch",
    { defaultBranch: "other", branches: [{ name: "only" }] },
    "a default that is none of them",
  ),
  post("/api/project/4/branch", {}, "without a name"),
  put("/api/project/4/branch", {}, "nothing said"),
  get("/api/project/4/branch", "none any more"),
];

const starts: readonly Question[] = [
  post("/api/project/2/build", {}, "no inputs"),
  post("/api/project/2/build?stage=build&branch=dev&environment=prod", { level: "high", count: 7 }, "everything said"),
  post("/api/project/2/test/run?environment=", { count: "12" }, "the older form, with a number as a text"),
  post("/api/project/2/build?engine=PRIMARY", { level: null }, "an engine in capitals, and null for an input"),
  post("/api/project/2/build?engine=none", {}, "an engine that is not there"),
  post("/api/project/99/build", {}, "of no project"),
  post("/api/project/x/build", {}, "no number"),
  post("/api/project/3/build", {}, "without a branch or a default"),
  get("/api/build/1"),
  get("/api/build/2"),
  get("/api/build/3"),
  get("/api/build/4"),
  get("/api/build/99", "not there"),
  get("/api/build/x", "no number"),
  get("/api/build?limit=1", "the last one"),
];

const statuses: readonly Question[] = [
  put("/api/build/1/status", { status: "Running" }, "begins"),
  put("/api/build/2/status", { status: "Running" }, "begins"),
  put("/api/build/2/status", { status: "Failed" }, "fails"),
  put("/api/build/2/status", { status: "Failed" }, "fails again"),
  put("/api/build/2/status", { status: "Completed" }, "another end"),
  put("/api/build/2/status", { status: "Running" }, "begins after its end"),
  put("/api/build/2/status", { status: "Failed" }, "fails at last"),
  put("/api/build/4/status", { status: "Paused" }, "a word that nobody knows"),
  put("/api/build/4/status", { status: "running" }, "a word in other letters"),
  put("/api/build/4/status", { status: "" }, "an empty word"),
  put("/api/build/4/status", {}, "no word"),
  put("/api/build/1/status", "{", "no JSON"),
  put("/api/build/99/status", { status: "Running" }, "not there"),
  put("/api/build/x/status", { status: "Running" }, "no number"),
  ...listed(
    "/api/build",
    "buildId",
    "projectId=2",
    "projectId=99",
    "projectId=x",
    "projectId=",
    "environment=prod",
    "environment=",
    "gitBranch=dev",
    "stage=test",
    "workerId=nobody",
    "isInvalid=false",
    "isInvalid=true",
    "isInvalid=",
    "isInvalid=maybe",
    "status=Running",
    "status=Running&status=Failed",
    "status=Paused",
    "status=",
    "statusId=0",
    "statusId=0&statusId=3",
    "statusId=9",
    "statusId=x",
    "status=Running&statusId=1",
    "environmentMatch=PRO",
    "gitBranchMatch=MAI",
    "stageMatch=all",
    "match=dev",
    "stage=test&stageMatch=es",
    "scheduledAfter=2001-01-01T00:00:00Z",
    "scheduledBefore=2001-01-01T00:00:00Z",
    "scheduledAfter=2001-01-01T00:00:00Z&scheduledBefore=2999-01-01T00:00:00Z",
    "finishedAfter=2001-01-01T00:00:00Z",
    "finishedBefore=2999-01-01T00:00:00Z",
    "finishedBefore=yesterday",
    "orderby=buildId%20asc",
    "orderby=stage%20asc&orderby=buildId%20asc",
    "orderby=environment%20asc&orderby=buildId%20asc",
    "orderby=environment%20desc&orderby=buildId%20asc",
    "orderby=startedOn%20asc&orderby=buildId%20asc",
    "orderby=statusId%20desc&orderby=buildId%20asc",
    "orderby=workerId%20asc",
    "limit=2&offset=1",
    "offset=1",
  ),
];

const at = "2026-01-31T12:00:00.123456Z";

const logs: readonly Question[] = [
  post("/api/build/1/log", { message: "one", timestamp: at }, "a line"),
  post("/api/build/1/log", { message: "two", timestamp: "2026-01-31T13:00:00+01:00" }, "of another zone"),
  post("/api/build/1/log", { message: "", timestamp: at }, "an empty line"),
  post("/api/build/1/log", { message: "no", timestamp: "yesterday" }, "without a time that can be"),
  post("/api/build/1/log", { message: 5, timestamp: at }, "a number for a text"),
  post("/api/build/1/log", "{", "no JSON"),
  post("/api/build/2/log", { message: "no time" }, "without a time"),
  post("/api/build/x/log", { message: "no", timestamp: at }, "no number"),
  post("/api/build/99/log", { message: "no", timestamp: at }, "of no build"),
  get("/api/build/1/log"),
  get("/api/build/3/log", "without lines"),
  get("/api/build/99/log", "of no build"),
  get("/api/build/x/log", "no number"),
  post("/api/build/3/log", { status: "Running" }, "a status"),
  post("/api/build/99/log", { status: "Running" }, "a status of no build"),
  get("/api/build/3", "after its status came with the log"),
  get("/api/build/x/stream", "no number"),
];

const trx = `<?xml version="1.0" encoding="UTF-8"?>
<TestRun xmlns="http://microsoft.com/schemas/VisualStudio/TeamTest/2010"><Results>
<UnitTestResult testName="adds" outcome="Passed" startTime="2026-01-31T12:00:00Z" endTime="2026-01-31T12:00:01Z"/>
<UnitTestResult testName="divides" outcome="Failed" startTime="2026-01-31T12:00:00Z" endTime="2026-01-31T12:00:01Z">
<Output><ErrorInfo><Message>by &lt;zero&gt;</Message><StackTrace>at line 1</StackTrace></ErrorInfo></Output></UnitTestResult>
<UnitTestResult testName="waits" outcome="NotExecuted"/>
</Results><ResultSummary><Counters total="3" passed="1" failed="1" notExecuted="1"/></ResultSummary></TestRun>`;

const artifacts: readonly Question[] = [
  post("/api/build/1/artifact", formOf("files", ["a.txt", "of a"], ["b.bin", "of b"]), "two files"),
  post("/api/build/1/artifact", formOf("others", ["c.txt", "of c"]), "of another field"),
  post("/api/build/1/artifact", { files: [] }, "no form"),
  post("/api/build/99/artifact", formOf("files", ["a.txt", "of a"]), "of no build"),
  get("/api/build/1/artifact?fileName=b.bin", "one"),
  ...listed(
    "/api/build/1/artifact",
    "fileName",
    "orderby=artifactId%20desc",
    "orderby=fileName%20asc",
    "name=files&limit=1",
    "fileNameMatch=A.T",
    "match=bin",
    "fileName=a.txt&fileNameMatch=a",
    "orderby=size%20asc",
  ),
  get("/api/build/3/artifact", "none"),
  get("/api/build/99/artifact", "of no build"),
  get("/api/build/1/artifact/1", "a text"),
  get("/api/build/1/artifact/2", "bytes"),
  get("/api/build/1/artifact/99", "not there"),
  get("/api/build/3/artifact/1", "of another build"),
  get("/api/build/1/artifact/x", "no number"),
];

const tests: readonly Question[] = [
  get("/api/build/4/tests-results", "none"),
  get("/api/build/4/test-result/list-summary", "none"),
  get("/api/build/4/test-result/summary", "none"),
  get("/api/build/4/test-result/detail", "none"),
  post("/api/build/4/test-result/", formOf("files", ["run.trx", trx]), "a file"),
  post("/api/build/4/test-result/", formOf("files", ["bad.trx", "no XML"]), "a file that cannot be read"),
  post("/api/build/4/test-result/", { files: [] }, "no form"),
  post("/api/build/99/test-result/", formOf("files", ["run.trx", trx]), "of no build"),
  get("/api/build/4/tests-results", "some"),
  get("/api/build/4/test-result/list-summary", "some"),
  get("/api/build/4/test-result/summary", "some"),
  get("/api/build/4/test-result/detail", "some"),
  get("/api/build/4/test-result/summary/99", "not there"),
  get("/api/build/4/test-result/summary/99/detail", "not there"),
  get("/api/build/4/test-result/summary/x", "no number"),
  get("/api/build/99/test-result/summary", "of no build"),
  get("/api/build/99/test-result/list-summary", "of no build"),
  get("/api/build/99/tests-results", "of no build"),
  get("/api/build/4", "with results of tests"),
  post("/api/build/2/test-result", formOf("files", ["late.trx", trx]), "without the slash at its end"),
];

/** Some of them leave a build behind that the others do not, so that later builds would have other numbers. */
const failedStarts: readonly Question[] = [
  post("/api/project/2/build?engine=secondary", {}, "an engine that refuses"),
  get("/api/build?isInvalid=true&limit=1", "one that could not be started"),
  post("/api/project/2/build", undefined, "no body"),
  post("/api/project/2/build", "{", "no JSON"),
  post("/api/project/2/build", [], "a list"),
  post("/api/project/2/build", { unknown: 1 }, "an input that nobody knows"),
  post("/api/project/2/build", { level: "middle" }, "a choice that is none"),
  post("/api/token", {}, "nothing said"),
  put("/api/token/1", {}, "nothing said"),
  ask("DELETE", "/api/project/1", "without builds"),
  get("/api/project/1", "after it was deleted"),
  ask("DELETE", "/api/project/99", "not there"),
  ask("DELETE", "/api/project/2", "with builds"),
];

/** Over HTTP. */
export const questions: readonly Question[] = [
  ...meta,
  ...tokens,
  ...providers,
  ...projects,
  ...overridesAndBranches,
  ...starts,
  ...statuses,
  ...logs,
  ...artifacts,
  ...tests,
  ...failedStarts,
];

/** A line as it goes over gRPC; one without a number is stored without regard to what is there. */
export interface SentLine {
  readonly buildId: bigint;
  readonly workerStepId: bigint;
  readonly workerLogId: bigint;
  readonly timestamp: { readonly seconds: bigint; readonly nanos: number };
  readonly message: string;
}

const line = (build: bigint, id: bigint, nanos = 0): SentLine => ({
  buildId: build,
  workerStepId: 1n,
  workerLogId: id,
  timestamp: { seconds: 1_769_860_800n, nanos },
  message: `line ${id}`,
});

/** Calls of `CreateLogStream` by what they bring, after all other questions. */
export const streams: Readonly<Record<string, readonly SentLine[]>> = {
  "two lines": [line(3n, 1n, 5000), line(3n, 2n)],
  "one of them again": [line(3n, 2n)],
  nothing: [],
  "a line of build 0, and one that can be kept": [line(0n, 1n), line(3n, 3n)],
  "a line without a time that can be, and one that can be kept": [line(3n, 4n, -1), line(3n, 5n)],
  "a line of a build that is not there": [line(99n, 1n)],
};
