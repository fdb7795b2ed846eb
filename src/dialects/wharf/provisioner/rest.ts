import { isJsonObject, type JsonObject, type JsonValue, type Logger } from "#lib/base/index.ts";
import { boundedText, refuse } from "../http/index.ts";
import { type Parameters, readParameters } from "./parameters.ts";
import { type ApiClient, type Informer, refTo } from "#kernel/kit/index.ts";
import { isNotFound, type Stored } from "#kernel/model/index.ts";
import { boundAnonymous, callerOf } from "../http/caller.ts";
import { createRestApi, sendJson, uintOf } from "../http/rest-api.ts";
import { Worker } from "../kinds.ts";
import { forceAnnotation, storeWorker, type WorkerStore } from "./store-worker.ts";
import type { ProvisionerSettings } from "./settings.ts";
import { workerJson } from "./worker-status.ts";

export interface ProvisionerParts extends Omit<WorkerStore, "settings"> {
  readonly workers: Pick<Informer<Worker>, "get" | "list">;
  readonly settings: ProvisionerSettings;
  readonly log: Logger;
  readonly origins?: readonly string[];
  readonly audit?: (entry: JsonObject) => void;
}

/** The REST API of released provisioners. It stores requests and reads the mirror; the controller starts workers, so an
 * answered request survives this process. */
export function createProvisionerApi(parts: ProvisionerParts) {
  const { client, settings, log, origins = [] } = parts;
  const api = createRestApi({ log, origins, hasSecretQueries: true });

  api.get("/api/worker", (context) => {
    const buildRef = context.req.query("buildRef");
    const statuses = new Set((context.req.queries("status") ?? []).map((word) => word.toLowerCase()));
    const wanted = buildRef === undefined || buildRef === "" ? undefined : uintOf("buildRef", buildRef);
    const found = listOf(parts)
      .map(workerJson)
      .filter(({ buildId }) => wanted === undefined || buildId === wanted)
      .filter(({ status }) => statuses.size === 0 || statuses.has(status.toLowerCase()));
    return sendJson(context, found);
  });

  api.get("/api/worker/:id", (context) => sendJson(context, workerJson(findWorker(parts, context.req.param("id")))));

  api.post("/api/worker", async (context) => {
    const { raw } = context.req;
    const given = await requestParameters({
      query: new URL(raw.url).searchParams,
      contentType: raw.headers.get("content-type") ?? "",
      body: raw.body as AsyncIterable<Uint8Array> | null,
    });
    const read = readParameters(given, settings);
    if (!read.ok) {
      const errors = read.error.map(({ message }) => message);
      throw refuse(read.error[0]?.kind ?? "invalid-param", errors.join("; "), { errors });
    }
    boundAnonymous(context, listOf(parts).length, "workers");
    const { worker, isNew } = await storeWorker(parts, given, read.value);
    log.info(isNew ? "worker requested" : "worker requested again", {
      worker: worker.metadata.name,
      build: read.value.buildRef,
      url: read.value.source.url,
    });
    const { buildRef, projectId, source } = read.value;
    const asked = { event: "worker-requested", user: callerOf(context), via: "provisioner", number: buildRef };
    const what = { project: projectId, repository: source.url, worker: worker.metadata.name };
    if (isNew) parts.audit?.({ ...asked, ...what });
    return sendJson(context, workerJson(worker), isNew ? 201 : 200);
  });

  api.delete("/api/worker/:id", async (context) => {
    const isSaid = (name: string): boolean => /^(?:1|true|)$/i.test(context.req.query(name) ?? "no");
    const done = () => context.newResponse(null, { status: 204 });
    const worker = lookUp(parts, context.req.param("id"));
    if (worker === undefined && isSaid("ignoreMissing")) return done();
    if (worker === undefined) throw unknownWorker(context.req.param("id"));
    try {
      if (isSaid("force")) await markForced(client, worker);
      await client.delete(refTo(Worker, worker), { preconditions: { uid: worker.metadata.uid } });
      return done();
    } catch (thrown) {
      if (isNotFound(thrown) && isSaid("ignoreMissing")) return done();
      throw isNotFound(thrown) ? unknownWorker(context.req.param("id")) : thrown;
    }
  });
  return api;
}

const unknownWorker = (id: string) => refuse("record-not-found", `the worker ${JSON.stringify(id)} does not exist`);

const listOf = ({ workers, settings }: ProvisionerParts): readonly Stored<Worker>[] =>
  workers
    .list({ namespace: settings.namespace })
    .toSorted(
      (a, b) =>
        compare(a.metadata.creationTimestamp, b.metadata.creationTimestamp) ||
        (a.spec.buildRef ?? 0) - (b.spec.buildRef ?? 0) ||
        compare(a.metadata.name, b.metadata.name),
    );

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const lookUp = (parts: ProvisionerParts, id: string): Stored<Worker> | undefined =>
  parts.workers.get(`${parts.settings.namespace}/${id}`) ??
  listOf(parts).find(({ metadata, status }) => metadata.uid === id || (id !== "" && status?.runtimeId === id));

function findWorker(parts: ProvisionerParts, id: string): Stored<Worker> {
  const worker = lookUp(parts, id);
  if (worker === undefined) throw unknownWorker(id);
  return worker;
}

/** Stored first: forced deletion never waits. */
async function markForced(client: ApiClient, worker: Stored<Worker>): Promise<void> {
  const { uid } = worker.metadata;
  await client.patch(refTo(Worker, worker), {
    type: "merge",
    body: { metadata: { uid, annotations: { [forceAnnotation]: "true" } } },
  });
}

const mostBytes = 1024 * 1024;

interface ParameterSource {
  readonly query: URLSearchParams;
  readonly contentType: string;
  readonly body: AsyncIterable<Uint8Array> | null;
}

/** Parameters in the query, a form or JSON; the body wins. */
async function requestParameters({ query, contentType, body }: ParameterSource): Promise<Parameters> {
  const text = await boundedText(body, mostBytes, "parameters");
  const given = Object.fromEntries(query);
  if (text.trim() === "") return given;
  if (/^application\/x-www-form-urlencoded\b/i.test(contentType))
    return { ...given, ...Object.fromEntries(new URLSearchParams(text)) };
  return { ...given, ...membersOf(text) };
}

function membersOf(text: string): Parameters {
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch (thrown) {
    // The parser's message may quote a token.
    throw refuse("unexpected-body-read-error", "expected the parameters as a form or as a JSON object", {
      cause: thrown,
    });
  }
  if (!isJsonObject(value)) throw refuse("unexpected-body-read-error", "expected a JSON object with the parameters");
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, asText(member)]));
}

/** Maps are parsed again like texts. */
const asText = (value: JsonValue | undefined): string =>
  value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
