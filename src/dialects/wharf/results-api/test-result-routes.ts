import { type ListFields, pageOf } from "../api/list-query.ts";
import type { ArtifactStore } from "../artifact-store/artifact-store.ts";
import {
  hasTests,
  summaryOf,
  type TestFile,
  testFiles,
  type TestSummary,
  testSummaries,
  testTotals,
} from "../artifact-store/test-counts.ts";
import type { TestDetail } from "../artifact-store/test-detail.ts";
import { testDetails } from "../artifact-store/test-results.ts";
import { refuse } from "../http/problem.ts";
import { type RestContext, sendJson } from "../http/rest-api.ts";
import { type Body, sendStream } from "../http/streamed-answer.ts";
import { artifactOf, takeForm } from "./artifact-routes.ts";
import { buildOf } from "./build-of.ts";
import type { Api, ResultsApiParts } from "./parts.ts";

/** Test results. Counts are stored when a file arrives; single tests are read from the file on each request. Files
 * other than TRX and JUnit are kept as artifacts and refused. */
export function addTestResultRoutes(api: Api, parts: ResultsApiParts): void {
  const path = "/api/build/:buildId/test-result";
  api.post(path, async (context) => {
    const { stored } = await takeForm(context, parts, true);
    return sendJson(
      context,
      stored.map(({ createdAt, fileName, artifactId }) => ({ updatedAt: createdAt, createdAt, fileName, artifactId })),
    );
  });
  api.get(`${path}/detail`, async (context) => {
    const { artifacts, buildId } = await askedOf(context, parts);
    return await sendDetails(context, artifacts, buildId, testFiles(artifacts, buildId));
  });
  api.get(`${path}/summary`, async (context) => {
    const { artifacts, buildId } = await askedOf(context, parts);
    const summaries = testSummaries(artifacts, buildId);
    return sendJson(context, pageOf(summaries, new URL(context.req.url).searchParams, summaryFields));
  });
  api.get(`${path}/summary/:artifactId`, async (context) => {
    const { artifacts, buildId } = await askedOf(context, parts);
    return sendJson(context, summaryOf(buildId, testFileOf(context, parts, artifacts)));
  });
  api.get(`${path}/summary/:artifactId/detail`, async (context) => {
    const { artifacts, buildId } = await askedOf(context, parts);
    return await sendDetails(context, artifacts, buildId, [testFileOf(context, parts, artifacts)]);
  });
  api.get(`${path}/list-summary`, async (context) => {
    const { artifacts, buildId } = await askedOf(context, parts);
    return sendJson(context, { buildId, ...testTotals(artifacts, buildId) });
  });
  api.get("/api/build/:buildId/tests-results", async (context) => {
    const { artifacts, buildId } = await askedOf(context, parts);
    const { passed, failed, total } = testTotals(artifacts, buildId);
    return sendJson(context, { passed, failed, status: failed > 0 ? "Failed" : total > 0 ? "Success" : "No tests" });
  });
}

async function askedOf(context: RestContext, parts: ResultsApiParts) {
  const buildId = buildOf(context, parts);
  return { buildId, artifacts: (await parts.stores.open()).artifacts };
}

const summaryFields: ListFields<TestSummary> = {
  orders: { artifactId: ({ artifactId }) => artifactId, fileName: ({ fileName }) => fileName },
  usualOrder: "artifactId",
  texts: { fileName: ({ fileName }) => fileName },
  soft: ["fileName"],
};

function testFileOf(context: RestContext, parts: ResultsApiParts, artifacts: ArtifactStore): TestFile {
  const artifact = artifactOf(context, parts, artifacts);
  if (hasTests(artifact)) return artifact;
  throw refuse("record-not-found", `artifact with ID ${artifact.artifactId} has no test results`);
}

/** Streams single tests; their ids ascend through the files of a build. */
async function sendDetails(
  context: RestContext,
  artifacts: ArtifactStore,
  buildId: number,
  files: readonly TestFile[],
): Promise<Response> {
  const all = testFiles(artifacts, buildId);
  const totalCount = files.reduce((sum, { tests }) => sum + tests.details, 0);
  const body: Body = async function* () {
    yield Buffer.from('{"list":[');
    let before = "";
    for (const file of files) {
      const earlier = all.filter(({ artifactId }) => artifactId < file.artifactId);
      let id = earlier.reduce((sum, { tests }) => sum + tests.details, 0);
      for await (const details of testDetails(artifacts.pathOf(file))) {
        const texts = details.map((detail) => JSON.stringify(detailJson(buildId, file, ++id, detail)));
        yield Buffer.from(`${before}${texts.join(",")}`);
        before = ",";
      }
    }
    yield Buffer.from(`],"totalCount":${totalCount}}`);
  };
  return await sendStream(context, { headers: { "content-type": "application/json; charset=utf-8" }, body });
}

const detailJson = (
  buildId: number,
  { artifactId, createdAt }: TestFile,
  testResultDetailId: number,
  { message, ...detail }: TestDetail,
): object => ({
  updatedAt: createdAt,
  createdAt,
  testResultDetailId,
  artifactId,
  buildId,
  ...detail,
  message: detail.status === "Success" ? null : message,
});
