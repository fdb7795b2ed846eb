import { codeOf, messageOf } from "#lib/base/index.ts";
import { type ListFields, pageOf } from "../api/list-query.ts";
import type { StoredArtifact } from "../artifact-store/artifact-list.ts";
import type { ArtifactStore, Upload } from "../artifact-store/artifact-store.ts";
import { type ProblemKind, refuse } from "../http/problem.ts";
import { type RestContext, sendJson, uintOf } from "../http/rest-api.ts";
import { sendFile } from "../http/streamed-answer.ts";
import { checkName } from "../results/artifact-name.ts";
import { buildOf, takenFor } from "./build-of.ts";
import { announcedSha256 } from "./digest.ts";
import { formFiles } from "./multipart.ts";
import type { Api, ResultsApiParts } from "./parts.ts";

/** What artifacts are asked by. */
const artifactFields: ListFields<StoredArtifact> = {
  orders: {
    artifactId: ({ artifactId }) => artifactId,
    name: ({ name }) => name,
    fileName: ({ fileName }) => fileName,
  },
  usualOrder: "artifactId",
  texts: { name: ({ name }) => name, fileName: ({ fileName }) => fileName },
  soft: ["name", "fileName"],
};

/**
 * Artifacts of builds.
 *
 * | Method, path | What |
 * | --- | --- |
 * | GET /artifact | a page of them, as other lists of this API |
 * | POST /artifact | a form with files: all of them or none; sent again they are there twice |
 * | GET /artifact/ID | its bytes, or a part of them |
 * | PUT /artifact/STEP/N | what a worker has under its number N, once; with the digest of its bytes |
 */
export function addArtifactRoutes(api: Api, parts: ResultsApiParts): void {
  const path = "/api/build/:buildId/artifact";
  api.get(path, async (context) => {
    const buildId = buildOf(context, parts);
    const { artifacts } = await parts.stores.open();
    const { list, totalCount } = pageOf(artifacts.list(buildId), new URL(context.req.url).searchParams, artifactFields);
    return sendJson(context, { list: list.map((artifact) => artifactJson(buildId, artifact)), totalCount });
  });
  api.post(path, async (context) => {
    const { buildId, stored } = await takeForm(context, parts, false);
    return sendJson(
      context,
      stored.map((artifact) => artifactJson(buildId, artifact)),
      201,
    );
  });
  api.get(`${path}/:artifactId`, async (context) => {
    const { artifacts } = await parts.stores.open();
    const artifact = artifactOf(context, parts, artifacts);
    const { size, contentType, sha256, fileName } = artifact;
    return await sendFile(context, { path: artifacts.pathOf(artifact), size, contentType, sha256, name: fileName });
  });
  api.put(`${path}/:stepId/:workerArtifactId`, (context) => takeNumbered(context, parts));
}

/** The artifact that a path names. */
export function artifactOf(context: RestContext, parts: ResultsApiParts, artifacts: ArtifactStore): StoredArtifact {
  const buildId = buildOf(context, parts);
  const artifactId = uintOf("artifactId", context.req.param("artifactId") ?? "");
  const found = artifacts.get(buildId, artifactId);
  if (found !== undefined) return found;
  throw refuse("record-not-found", `artifact with ID ${artifactId} was not found on build with ID ${buildId}`);
}

/** An artifact as clients know it: the original's members, then those that are additions. */
const artifactJson = (buildId: number, { tests, sha256, createdAt, ...artifact }: StoredArtifact): object => ({
  artifactId: artifact.artifactId,
  buildId,
  name: artifact.name,
  fileName: artifact.fileName,
  updatedAt: createdAt,
  createdAt,
  stepId: artifact.stepId,
  workerArtifactId: artifact.workerArtifactId,
  size: artifact.size,
  sha256,
  contentType: artifact.contentType,
  testResults: tests !== undefined,
});

/** The files of a form, all of them or none. What they are called is the name of their field, as in the original. */
export async function takeForm(
  context: RestContext,
  parts: ResultsApiParts,
  isTests: boolean,
): Promise<{ readonly buildId: number; readonly stored: readonly StoredArtifact[] }> {
  const uploads = async function* (): AsyncGenerator<Upload, void> {
    for await (const { field, fileName, contentType, bytes } of formFiles(context.env.incoming)) {
      checked(fileName);
      yield { artifact: { name: field, fileName, contentType, isTests }, source: bytes };
    }
  };
  const { artifacts, buildId } = await takenFor(context, parts);
  const stored = await kept(artifacts.addAll(buildId, uploads()));
  if (stored.length === 0) throw refuse("unexpected-multipart-read-error", "expected a form with files, found none");
  return { buildId, stored };
}

/**
 * What a worker has under a number, once: `name` is its path there, `testResults=1` says that its tests are to be counted. Bytes that
 * are there already are answered without being read.
 */
async function takeNumbered(context: RestContext, parts: ResultsApiParts): Promise<Response> {
  const stepId = uintOf("stepId", context.req.param("stepId") ?? "");
  const workerArtifactId = uintOf("workerArtifactId", context.req.param("workerArtifactId") ?? "");
  if (workerArtifactId === 0) throw refuse("invalid-param-uint", "workerArtifactId: expected a number from 1");
  const sha256 = announcedSha256((name) => context.req.header(name));
  const name = checked(context.req.query("name") ?? "");
  const { artifacts, buildId } = await takenFor(context, parts);
  const known = artifacts.sent(buildId, stepId, workerArtifactId);
  if (known?.sha256 === sha256) return sendJson(context, artifactJson(buildId, known));
  const isTests = ["1", "true"].includes(context.req.query("testResults") ?? "");
  const contentType = context.req.header("content-type");
  const artifact = { name, stepId, workerArtifactId, contentType, sha256, isTests };
  const stored = await kept(artifacts.add(buildId, artifact, context.env.incoming));
  return sendJson(context, artifactJson(buildId, stored), 201);
}

/** A name that can be written down. */
function checked(name: string): string {
  try {
    checkName(0, name);
    return name;
  } catch (cause) {
    throw refuse(name === "" ? "missing-param-string" : "invalid-param", `name: ${messageOf(cause)}`, { cause });
  }
}

/** What the store says no to, by its code. */
const refusals: Readonly<Record<string, ProblemKind>> = {
  "artifact-limit": "too-large",
  "artifact-digest": "invalid-param",
  "artifact-taken": "conflict",
  "artifacts-removed": "record-not-found",
  "test-results": "test-results-parse",
  ENOSPC: "service-unavailable",
  EDQUOT: "service-unavailable",
  // The caller has gone in the middle of it.
  ECONNRESET: "unexpected-body-read-error",
  ERR_STREAM_PREMATURE_CLOSE: "unexpected-body-read-error",
};

/** In words of the REST API. */
async function kept<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (thrown) {
    const kind = refusals[codeOf(thrown) ?? ""];
    if (kind === undefined) throw thrown;
    throw refuse(kind, messageOf(thrown), { cause: thrown });
  }
}
