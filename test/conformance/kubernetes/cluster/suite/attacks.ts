import type { Ask } from "./api.ts";

// Requests that ask for too much, each with the answers that are right. A server may also hang up on a body it does not want to read.

export interface Attack {
  readonly method: string;
  readonly path: string;
  readonly ask?: Ask;
  readonly statuses: readonly number[];
}

const maps = "/api/v1/namespaces/default/configmaps";
const megabyte = 2 ** 20;
const json = { "Content-Type": "application/json" };
const yaml = { "Content-Type": "application/yaml" };
const post = (bytes: Buffer | string, headers: Readonly<Record<string, string>>, ...statuses: number[]): Attack => ({
  method: "POST",
  path: maps,
  ask: { bytes, headers },
  statuses,
});
const mapOf = (data: string): string =>
  `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"big"},"data":{${data}}}`;
const members = (count: number): string => Array.from({ length: count }, (_, n) => `"k${n}":"v"`).join(",");
const deep = "[".repeat(100_000) + "]".repeat(100_000);

/** Each line is ten of the line before. */
const bomb = Array.from({ length: 12 }, (_, n) => {
  const items = n === 0 ? ["x"] : Array.from({ length: 10 }, () => `*a${n - 1}`);
  return `a${n}: &a${n} [${items.join(",")}]\n`;
}).join("");

/** A ConfigMap whose data consist of empty entries, two bytes each. */
function tinyFields(): Buffer {
  const data = Buffer.alloc(2 * megabyte, Buffer.from([0x12, 0x00]));
  const length = Buffer.from([
    (data.length & 0x7f) | 0x80,
    ((data.length >> 7) & 0x7f) | 0x80,
    ((data.length >> 14) & 0x7f) | 0x80,
    data.length >> 21,
  ]);
  const type = Buffer.concat([
    Buffer.from([0x0a, 2]),
    Buffer.from("v1"),
    Buffer.from([0x12, 9]),
    Buffer.from("ConfigMap"),
  ]);
  return Buffer.concat([
    Buffer.from("k8s\0"),
    Buffer.from([0x0a, type.length]),
    type,
    Buffer.from([0x12]),
    length,
    data,
  ]);
}

const makers: Readonly<Record<string, () => Attack>> = {
  "bodies of 24 MiB": () => post(Buffer.alloc(24 * megabyte, 0x20), json, 413),
  "bodies of 24 MiB that are not announced": () =>
    post(Buffer.alloc(24 * megabyte, 0x20), { ...json, "Transfer-Encoding": "chunked" }, 413),
  "bodies of 24 MiB of nobody": () => {
    const attack = post(Buffer.alloc(24 * megabyte, 0x20), json, 401);
    return { ...attack, ask: { ...attack.ask, isAnonymous: true } };
  },
  "texts of 3 MiB": () => post(mapOf(`"k":"${"x".repeat(3 * megabyte - 200)}"`), json, 422, 429),
  "objects of 200,000 members": () => post(mapOf(members(200_000)), json, 413, 429),
  "lists of a million empty lists": () => post(`{"x":[${"[],".repeat(megabyte - 100)}[]]}`, json, 413, 429),
  "JSON 100,000 deep": () => post(deep, json, 400, 429),
  "YAML 100,000 deep": () => post(deep, yaml, 400, 429),
  "YAML aliases of aliases": () => post(bomb, yaml, 400),
  "protobuf of a million tiny fields": () =>
    post(tinyFields(), { "Content-Type": "application/vnd.kubernetes.protobuf" }, 400, 429),
  "selectors of thousands of terms": () => ({
    method: "GET",
    path: `${maps}?labelSelector=${Array.from({ length: 700 }, (_, n) => `k${n}!=v`).join(",")}`,
    statuses: [400],
  }),
  "selectors longer than a URL may be": () => ({
    method: "GET",
    path: `${maps}?labelSelector=${"a,".repeat(10_000)}a`,
    statuses: [414, 431],
  }),
  "lists of everything": () => ({ method: "GET", path: "/api/v1/configmaps", statuses: [200, 429] }),
};

export const attackNames: readonly string[] = Object.keys(makers);

export function attackOf(name: string): Attack {
  const make = makers[name];
  if (make === undefined) throw new Error(`there is no attack ${JSON.stringify(name)}`);
  return make();
}
