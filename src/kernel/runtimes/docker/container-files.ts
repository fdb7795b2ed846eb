import type { Instant } from "#lib/base/index.ts";
import { isJsonObject, type JsonValue, parseInstant } from "#lib/base/index.ts";
import type { EngineClient } from "./engine/engine-client.ts";
import { isRefusal } from "./engine/engine-errors.ts";
import { textOf } from "./engine/members.ts";

// Files of a container, running or not, as tar through the engine, which may be remote.

const archiveOf = (container: string): string => `/containers/${container}/archive`;

/** Unpacks an archive below a directory of the container, with the archive's owners. */
export async function putFiles(
  engine: EngineClient,
  container: string,
  path: string,
  tar: Buffer | AsyncIterable<Buffer>,
  signal?: AbortSignal,
): Promise<void> {
  await engine.call("PUT", archiveOf(container), {
    query: { path },
    body: tar,
    ...(signal === undefined ? {} : { signal }),
  });
}

/** A file or directory as an archive named by the path's last part; undefined if missing. May be left early. */
export async function getFiles(
  engine: EngineClient,
  container: string,
  path: string,
): Promise<AsyncIterable<Buffer> | undefined> {
  try {
    return await engine.stream("GET", archiveOf(container), { query: { path } });
  } catch (thrown) {
    if (isRefusal(thrown, 404)) return undefined;
    throw thrown;
  }
}

/** When a file of the container was last changed; undefined if it is missing. Cheap, unlike an archive. */
export async function modifiedAt(engine: EngineClient, container: string, path: string): Promise<Instant | undefined> {
  try {
    const headers = await engine.headers(archiveOf(container), { query: { path } });
    const header = String(headers["x-docker-container-path-stat"] ?? "");
    const facts = JSON.parse(Buffer.from(header, "base64").toString("utf8")) as JsonValue;
    return isJsonObject(facts) ? parseInstant(textOf(facts, "mtime").replace(/(\.\d{3})\d*/, "$1")) : undefined;
  } catch (thrown) {
    if (isRefusal(thrown, 404)) return undefined;
    throw thrown;
  }
}
