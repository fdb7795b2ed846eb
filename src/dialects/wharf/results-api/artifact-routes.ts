import { type ProblemKind, refuse } from "../http/problem.ts";
import { codeOf, messageOf } from "#lib/base/index.ts";
import { type ListFields, pageOf } from "../api/list-query.ts";
import type { StoredArtifact } from "../artifact-store/artifact-list.ts";
import type { ArtifactStore, Upload } from "../artifact-store/artifact-store.ts";
import { type RestContext, sendJson, uintOf } from "../http/rest-api.ts";
import { sendFile } from "../http/streamed-answer.ts";
import { checkName } from "../results/artifact-name.ts";
import { buildOf, takenFor } from "./build-of.ts";
import { formFiles } from "./multipart.ts";
import type { Api, ResultsApiParts } from "./parts.ts";

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

/** Artifacts of builds. `GET` lists a page, `POST` adds all files of a form or none, `GET /ID` downloads (with ranges),
 * and `PUT /STEP/N` stores a worker's artifact once, verified by its digest. */
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

export function artifactOf(context: RestContext, parts: ResultsApiParts, artifacts: ArtifactStore): StoredArtifact {
  const buildId = buildOf(context, parts);
  const artifactId = uintOf("artifactId", context.req.param("artifactId") ?? "");
  const found = artifacts.get(buildId, artifactId);
  if (found !== undefined) return found;
  throw refuse("record-not-found", `artifact with ID ${artifactId} was not found on build with ID ${buildId}`);
}

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

/** All files of the form or none; an artifact's name is its field, as in the original. */
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

/** `name` is the path at the worker, `testResults=1` counts tests. Known bytes are not read again. */
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

function checked(name: string): string {
  try {
    checkName(0, name);
    return name;
  } catch (cause) {
    throw refuse(name === "" ? "missing-param-string" : "invalid-param", `name: ${messageOf(cause)}`, { cause });
  }
}

const refusals: Readonly<Record<string, ProblemKind>> = {
  "artifact-limit": "too-large",
  "artifact-digest": "invalid-param",
  "artifact-taken": "conflict",
  "artifacts-removed": "record-not-found",
  "test-results": "test-results-parse",
  ENOSPC: "service-unavailable",
  EDQUOT: "service-unavailable",
  ECONNRESET: "unexpected-body-read-error",
  ERR_STREAM_PREMATURE_CLOSE: "unexpected-body-read-error",
};

async function kept<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (thrown) {
    const kind = refusals[codeOf(thrown) ?? ""];
    if (kind === undefined) throw thrown;
    throw refuse(kind, messageOf(thrown), { cause: thrown });
  }
}

/** The SHA-256 in `Digest: sha-256=…` (RFC 3230; base64 or hexadecimal) or `Content-Digest: sha-256=:…:` (RFC 9530). */
function announcedSha256(header: (name: string) => string | undefined): string {
  const text = [header("digest"), header("content-digest")].filter((one) => one !== undefined).join(",");
  const [, value = ""] = /(?:^|,)\s*sha-256=:?([^,:\s]+)/i.exec(text) ?? [];
  if (/^[0-9a-f]{64}$/i.test(value)) return value.toLowerCase();
  const bytes = Buffer.from(value, "base64");
  if (bytes.length === 32 && /^[A-Za-z0-9+/_-]{43}=?$/.test(value)) return bytes.toString("hex");
  if (text === "") throw refuse("missing-param-string", "Digest: expected sha-256=… of the body");
  throw refuse("invalid-param", `Digest: expected sha-256=… of the body, found ${JSON.stringify(text.slice(0, 200))}`);
}
