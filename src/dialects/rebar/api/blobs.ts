import { BlobRefusal, type BlobStore, segmentsOf } from "#kernel/artifacts/index.ts";
import { sendBytes } from "#kernel/doors/index.ts";
import { refusal, Refused } from "../failure.ts";
import { isType } from "./bodies.ts";
import { type Answered, type Call, created, demand, done, found, isRead, isSet, noRoute, notFound } from "./call.ts";

/** `/files` and `/isos`: content that machines download. */
export async function answerBlobs(scope: "files" | "isos", store: BlobStore, call: Call): Promise<Answered> {
  try {
    return await answer(scope, store, call);
  } catch (thrown) {
    if (!(thrown instanceof BlobRefusal)) throw thrown;
    throw asRefused(scope, call, thrown);
  }
}

const asRefused = (scope: string, { method, path }: Call, { code, message }: BlobRefusal): Refused =>
  new Refused(refusal(code, method, scope, path.slice(1).join("/"), message));

async function answer(scope: "files" | "isos", store: BlobStore, call: Call): Promise<Answered> {
  const { method, query, request } = call;
  const path = segmentsOf(call.path.slice(1).join("/")).join("/");
  if (path === "") {
    if (!isRead(method)) throw noRoute(call);
    return found(call.caller.may(scope, "list", "*") ? await store.list(query.get("path") ?? "") : []);
  }
  if (isRead(method)) return await send(scope, store, path, call);
  if (method === "POST") {
    demand(call, scope, "post", path);
    const type = request.headers["content-type"] ?? "";
    if (!isType(type, "application/octet-stream"))
      throw new Refused(refusal(415, method, scope, path, `Invalid content type: ${type}`));
    const Size = await store.write(path, request);
    if (isSet(query, "explode")) await store.explode(path);
    return created({ Path: `/${path}`, Size });
  }
  if (method !== "DELETE") throw noRoute(call);
  demand(call, scope, "delete", path);
  await store.remove(path);
  return done;
}

async function send(scope: string, store: BlobStore, path: string, call: Call): Promise<Answered> {
  const blob = call.caller.may(scope, "get", path) ? await store.find(path) : undefined;
  if (blob === undefined) throw notFound(call.method, scope, path);
  const sum = await store.sha256(blob);
  sendBytes(call, {
    size: blob.size,
    contentType: "application/octet-stream",
    sha256: `SHA256:${sum}`,
    headers: { "X-DRP-SHA256SUM": sum },
    read: (start, end) => store.read(blob, start, end),
  });
  return undefined;
}
