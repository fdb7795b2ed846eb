import { err, isJsonObject, messageOf, ok } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { ConfigMap, isNotFound, type KubeObject, Secret } from "#kernel/model/index.ts";
import type { ValueKind, ValuePlace, Values } from "./find-values.ts";

export interface ServerSession {
  readonly client: Pick<ApiClient, "get">;
  readonly namespace: string;
}

/** Secrets and ConfigMaps of a server, connected on first use. A server that does not answer is an error. */
export function serverPlace(called: string, connect: () => Promise<ServerSession>, signal: AbortSignal): ValuePlace {
  let session: Promise<ServerSession> | undefined;
  return {
    where: () => called,
    async find(kind, name) {
      try {
        const { client, namespace } = await (session ??= connect());
        const type = kind === "secret" ? Secret : ConfigMap;
        return ok(valuesOf(kind, await client.get({ type, namespace, name }, { signal })));
      } catch (thrown) {
        return isNotFound(thrown) ? ok(undefined) : err(`${called}: ${messageOf(thrown)}`);
      }
    },
  };
}

function valuesOf(kind: ValueKind, object: KubeObject): Values {
  const { data, binaryData } = object as { readonly data?: unknown; readonly binaryData?: unknown };
  const read = (values: unknown, encoding: BufferEncoding) =>
    Object.entries(isJsonObject(values) ? values : {}).flatMap(([key, value]) =>
      typeof value === "string" ? [[key, Buffer.from(value, encoding)] as const] : [],
    );
  return new Map([...read(data, kind === "secret" ? "base64" : "utf8"), ...read(binaryData, "base64")]);
}
