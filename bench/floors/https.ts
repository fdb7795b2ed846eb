import { fdatasync, open, write as writeFile } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { ensureCertificates } from "#kernel/apiserver/index.ts";
import { itemOf } from "../ours/items.ts";
import { groupCommit, objectName, objects } from "./load.ts";

// Floor of a durable API write: node:http(s), JSON.parse, JSON.stringify, one commit per group. No schema, no watch, no policy; the
// resourceVersion of a PUT is compared because the client sends it, a POST creates. The commit is the least there is, an append to a
// log (B3), or what makes a store of it that can be read again: object, record of the change and revision in LMDB (P2, P3).

const [openAsync, writeAsync, syncAsync] = [promisify(open), promisify(writeFile), promisify(fdatasync)];
const itemBytes = 1_024;
const segmentBytes = 64 * 2 ** 20;

interface StoredObject {
  readonly metadata: { readonly name: string; readonly resourceVersion?: string };
}

/** An object that is about to be answered with. */
interface Stored {
  readonly name: string;
  readonly bytes: Buffer;
}

/** Makes a group durable. */
type Commit = (group: readonly Stored[]) => Promise<void>;

export async function toLog(dir: string): Promise<Commit> {
  const file = await openAsync(join(dir, "floor.log"), "w+");
  await writeAsync(file, Buffer.alloc(segmentBytes), 0, segmentBytes, 0);
  await syncAsync(file);
  let position = 0;
  return async (group) => {
    const bytes = Buffer.concat(group.map((stored) => stored.bytes));
    if (position + bytes.length > segmentBytes) position = 0;
    await writeAsync(file, bytes, 0, bytes.length, position);
    await syncAsync(file);
    position += bytes.length;
  };
}

async function toTables(dir: string): Promise<Commit> {
  // Its native library is loaded for those who want it.
  const { keyOf, openTables, recordHeadBytes } = await import("./lmdb.ts");
  const tables = openTables(join(dir, "floor.mdb"));
  const head = Buffer.alloc(recordHeadBytes, "x");
  return (group) =>
    tables.commit(
      group.map(({ name, bytes }) => ({ key: keyOf(name), value: bytes, record: Buffer.concat([head, bytes]) })),
    );
}

interface StartOptions {
  readonly dir: string;
  readonly tls: boolean;
  /** What a write is durable in; a log unless told. */
  readonly commitTo?: "log" | "tables";
}

export async function start({ dir, tls, commitTo = "log" }: StartOptions) {
  const commit = groupCommit<Stored>(await (commitTo === "log" ? toLog(dir) : toTables(dir)));
  let revision = objects;
  const revisions = Array.from({ length: objects }, (_, index) => String(index + 1));
  const headers = new Map(
    revisions.map((at, index) => [
      objectName(index),
      { revision: at, bytes: Buffer.from(JSON.stringify(itemOf(index, 0, itemBytes))) },
    ]),
  );
  const serve: RequestListener = (request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const last = request.url?.slice(request.url.lastIndexOf("/") + 1) ?? "";
      const answer = (status: number, body: Buffer): void => {
        response.writeHead(status, { "Content-Type": "application/json", "Content-Length": body.length });
        response.end(body);
      };
      if (request.method === "GET") return answer(200, headers.get(last)?.bytes ?? Buffer.alloc(0));
      const object = JSON.parse(Buffer.concat(parts).toString("utf8")) as StoredObject;
      const isNew = request.method === "POST";
      const name = isNew ? object.metadata.name : last;
      if (object.metadata.resourceVersion !== headers.get(name)?.revision) return answer(409, Buffer.alloc(0));
      const next = String(++revision);
      const bytes = Buffer.from(JSON.stringify({ ...object, metadata: { ...object.metadata, resourceVersion: next } }));
      headers.set(name, { revision: next, bytes });
      commit({ name, bytes }).then(
        () => answer(isNew ? 201 : 200, bytes),
        () => answer(500, Buffer.alloc(0)),
      );
    });
  };
  const certificates = tls ? await ensureCertificates(join(dir, "pki"), Date.now()) : undefined;
  const server = certificates === undefined ? createServer(serve) : createTlsServer(certificates, serve);
  // Idle while others are measured.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { port, token: "", revisions, ...(certificates === undefined ? {} : { ca: certificates.ca }) };
}
