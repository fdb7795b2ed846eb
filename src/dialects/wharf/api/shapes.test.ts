import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type JsonValue, silentLog, systemClock } from "#lib/base/index.ts";
import { type HttpDoor, openHttpDoor } from "../http/index.ts";
import { TestEngine, TestPlane } from "../testing/plane.ts";

// Every endpoint, asked once in an order in which each finds something, and the members and types of what it answers: clients of the original are
// written in languages that fail on others. What the answers say is looked at elsewhere.

let engine: TestEngine;
let plane: TestPlane;
let door: HttpDoor;
beforeAll(async () => {
  engine = await TestEngine.open();
  plane = await new TestPlane([engine.engine]).synced();
  const serves = async () => ({ fetch: plane.api.fetch });
  door = await openHttpDoor({ address: "127.0.0.1:0", clock: systemClock, log: silentLog, drain: 50, serves });
});
afterAll(async () => {
  await door.close();
  await plane.close();
  await engine.close();
});

const [text, number, flag, time, none] = ["text", "number", "flag", "time", "null"];
type Shape = string | readonly Shape[] | { readonly [name: string]: Shape };

/** Types instead of values; of a list that of its first item, nothing of an empty one. */
function shapeOf(value: JsonValue): Shape {
  if (value === null) return none;
  if (Array.isArray(value)) return value.slice(0, 1).map(shapeOf);
  if (typeof value === "object")
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shapeOf(member ?? null)]));
  if (typeof value === "string") return /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value) ? time : text;
  return typeof value === "number" ? number : flag;
}

const listOf = (item: Shape): Shape => ({ list: [item], totalCount: number });
const times = { updatedAt: time, createdAt: time };
const engineShape = { id: text, name: text, url: text, api: text };
const branch = { ...times, branchId: number, projectId: number, name: text, default: flag, tokenId: number };
const provider = { ...times, providerId: number, name: text, url: text, tokenId: number };
const token = { ...times, tokenId: number, token: text, userName: text };
const texts = { remoteProjectId: text, name: text, groupName: text, description: text, avatarUrl: text, gitUrl: text };
const project = {
  ...times,
  ...texts,
  projectId: number,
  tokenId: number,
  providerId: number,
  provider: none,
  buildDefinition: text,
  branches: [branch],
  build: none,
};
const overrides = { projectId: number, description: text, avatarUrl: text, gitUrl: text };
const counts = { total: number, failed: number, passed: number, skipped: number };
const build = {
  ...times,
  buildId: number,
  statusId: number,
  status: text,
  projectId: number,
  scheduledOn: time,
  startedOn: none,
  finishedOn: none,
  gitBranch: text,
  environment: none,
  stage: text,
  workerId: text,
  params: [],
  isInvalid: flag,
  testResultSummaries: [],
  testResultListSummary: { buildId: number, ...counts },
  engine: engineShape,
  reason: text,
  message: text,
};
const running = { ...build, startedOn: time };
const line = {
  logId: number,
  buildId: number,
  message: text,
  timestamp: time,
  workerStepId: number,
  workerLogId: number,
};
const artifact = {
  artifactId: number,
  buildId: number,
  name: text,
  fileName: text,
  stepId: number,
  workerArtifactId: number,
  size: number,
  sha256: text,
  contentType: text,
  testResults: flag,
  ...times,
};
const summary = {
  ...times,
  testResultSummaryId: number,
  fileName: text,
  artifactId: number,
  buildId: number,
  ...counts,
};
const detail = {
  ...times,
  testResultDetailId: number,
  artifactId: number,
  buildId: number,
  name: text,
  message: none,
  startedOn: none,
  completedOn: none,
  status: text,
};

const form = (name: string, content: string): FormData => {
  const files = new FormData();
  files.append("files", new File([content], name));
  return files;
};
const newLine = { workerStepId: 1, workerLogId: 1, timestamp: "2026-01-31T12:00:00Z", message: "hi" };
const bytes = "content of an artifact";
const junit = '<testsuite><testcase name="a"/></testsuite>';
const taken = { inserted: number, duplicates: number };

/** Method and route, the path that is asked, what is sent, the status, and the shape; undefined where nothing or no JSON is answered. */
type Row = readonly [method: string, route: string, path: string, body: unknown, status: number, shape?: Shape];
const rows: readonly Row[] = [
  ["GET", "/", "/", undefined, 200, { message: text }],
  ["GET", "/api/ping", "/api/ping", undefined, 200, { message: text }],
  ["GET", "/health", "/health", undefined, 200, { message: text, isHealthy: flag }],
  ["GET", "/api/health", "/api/health", undefined, 200, { message: text, isHealthy: flag }],
  [
    "GET",
    "/api/version",
    "/api/version",
    undefined,
    200,
    { version: text, buildGitCommit: text, buildDate: time, buildRef: number, slipwayVersion: text },
  ],
  ["GET", "/api/engine", "/api/engine", undefined, 200, { defaultEngine: engineShape, list: [engineShape] }],
  [
    "POST",
    "/api/project",
    "/api/project",
    { name: "web", gitUrl: "https://h/x.git" },
    201,
    { ...project, branches: [] },
  ],
  ["POST", "/api/project/:projectId/branch", "/api/project/1/branch", { name: "main", default: true }, 201, branch],
  [
    "GET",
    "/api/project/:projectId/branch",
    "/api/project/1/branch",
    undefined,
    200,
    { ...(listOf(branch) as object), defaultBranch: branch },
  ],
  [
    "PUT",
    "/api/project/:projectId/branch",
    "/api/project/1/branch",
    { defaultBranch: "main", branches: [{ name: "main" }] },
    200,
    { defaultBranch: branch, branches: [branch] },
  ],
  ["GET", "/api/project", "/api/project", undefined, 200, listOf(project)],
  ["GET", "/api/project/:projectId", "/api/project/1", undefined, 200, project],
  ["PUT", "/api/project/:projectId", "/api/project/1", { name: "web", gitUrl: "https://h/x.git" }, 200, project],
  ["GET", "/api/project/:projectId/override", "/api/project/1/override", undefined, 200, overrides],
  ["PUT", "/api/project/:projectId/override", "/api/project/1/override", { description: "d" }, 200, overrides],
  ["DELETE", "/api/project/:projectId/override", "/api/project/1/override", undefined, 204],
  ["POST", "/api/provider", "/api/provider", { name: "gitlab", url: "https://h" }, 201, provider],
  ["GET", "/api/provider", "/api/provider", undefined, 200, listOf(provider)],
  ["GET", "/api/provider/:id", "/api/provider/1", undefined, 200, provider],
  ["PUT", "/api/provider/:id", "/api/provider/1", { name: "github", url: "https://h" }, 200, provider],
  ["POST", "/api/token", "/api/token", { token: "s3cret", userName: "ann" }, 201, token],
  ["GET", "/api/token", "/api/token", undefined, 200, listOf(token)],
  ["GET", "/api/token/:id", "/api/token/1", undefined, 200, token],
  ["PUT", "/api/token/:id", "/api/token/1", { token: "other" }, 200, token],
  ["POST", "/api/project/:projectId/build", "/api/project/1/build", {}, 200, { buildRef: text }],
  ["POST", "/api/project/:projectId/:stage/run", "/api/project/1/test/run", {}, 200, { buildRef: text }],
  ["GET", "/api/build", "/api/build", undefined, 200, listOf(build)],
  ["GET", "/api/build/:buildId", "/api/build/1", undefined, 200, build],
  ["PUT", "/api/build/:buildId/log", "/api/build/1/log", newLine, 200, taken],
  ["PUT", "/api/build/:buildId/logs", "/api/build/1/logs", [newLine], 200, { ...taken, skipped: number }],
  ["POST", "/api/build/:buildId/log", "/api/build/1/log", newLine, 201],
  ["GET", "/api/build/:buildId/log", "/api/build/1/log", undefined, 200, [line]],
  [
    "GET",
    "/api/build/:buildId/log/cursor",
    "/api/build/1/log/cursor",
    undefined,
    200,
    [{ workerStepId: number, lastWorkerLogId: number }],
  ],
  ["POST", "/api/build/:buildId/artifact", "/api/build/1/artifact", form("a.txt", "a"), 201, [artifact]],
  ["GET", "/api/build/:buildId/artifact", "/api/build/1/artifact", undefined, 200, listOf(artifact)],
  ["GET", "/api/build/:buildId/artifact/:artifactId", "/api/build/1/artifact/1", undefined, 200],
  [
    "PUT",
    "/api/build/:buildId/artifact/:stepId/:workerArtifactId",
    "/api/build/1/artifact/1/7?name=b.txt",
    bytes,
    201,
    artifact,
  ],
  [
    "GET",
    "/api/build/:buildId/tests-results",
    "/api/build/1/tests-results",
    undefined,
    200,
    { passed: number, failed: number, status: text },
  ],
  [
    "POST",
    "/api/build/:buildId/test-result",
    "/api/build/2/test-result",
    form("j.xml", junit),
    200,
    [{ ...times, fileName: text, artifactId: number }],
  ],
  [
    "GET",
    "/api/build/:buildId/test-result/summary",
    "/api/build/2/test-result/summary",
    undefined,
    200,
    listOf(summary),
  ],
  [
    "GET",
    "/api/build/:buildId/test-result/summary/:artifactId",
    "/api/build/2/test-result/summary/1",
    undefined,
    200,
    summary,
  ],
  [
    "GET",
    "/api/build/:buildId/test-result/summary/:artifactId/detail",
    "/api/build/2/test-result/summary/1/detail",
    undefined,
    200,
    listOf(detail),
  ],
  ["GET", "/api/build/:buildId/test-result/detail", "/api/build/2/test-result/detail", undefined, 200, listOf(detail)],
  [
    "GET",
    "/api/build/:buildId/test-result/list-summary",
    "/api/build/2/test-result/list-summary",
    undefined,
    200,
    { buildId: number, ...counts },
  ],
  ["PUT", "/api/build/:buildId/status", "/api/build/1/status", { status: "Running" }, 200, running],
  ["POST", "/api/build/:buildId/cancel", "/api/build/1/cancel", undefined, 202],
  ["DELETE", "/api/project/:projectId", "/api/project/1", undefined, 204],
];
/** Its answer has no end before the build has: its form is looked at where it is read. */
const streamed = "GET /api/build/:buildId/stream";

test("every endpoint answers with the members that clients know", async () => {
  const wrong: unknown[] = [];
  for (const [method, route, path, body, status, shape] of rows) {
    const sent =
      body === undefined || typeof body === "string" || body instanceof FormData ? body : JSON.stringify(body);
    const answer = await fetch(`http://${door.address}${path}`, {
      method,
      ...(sent === undefined ? {} : { body: sent }),
      ...(body === bytes
        ? { headers: { digest: `sha-256=${createHash("sha256").update(bytes).digest("base64")}` } }
        : {}),
    });
    const content = await answer.text();
    const found = shape === undefined ? undefined : shapeOf(JSON.parse(content) as JsonValue);
    if (answer.status !== status || !sameShape(found, shape))
      wrong.push({ endpoint: `${method} ${route}`, status: answer.status, expected: shape, found, content });
  }
  expect(wrong).toEqual([]);
  const asked = [...rows.map(([method, route]) => `${method} ${route}`), streamed];
  const served = plane.api.routes
    .filter(({ method }) => method !== "ALL")
    .map(({ method, path }) => `${method} ${path}`);
  expect(asked.toSorted()).toEqual([...new Set(served)].toSorted());
});

const sameShape = (found: Shape | undefined, expected: Shape | undefined): boolean => {
  try {
    expect(found).toEqual(expected);
    return true;
  } catch {
    return false;
  }
};
