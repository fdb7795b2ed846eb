import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { type Api, type Ask, openApi } from "./suite/api.ts";

// 49. Bytes and bodies that are wrong by themselves: refused by every Kubernetes, or kept as they are. NS stands for the namespace.

let api: Api;
let namespace: string;
const maps = "/api/v1/namespaces/NS/configmaps";
const filled = (text: string) => text.replaceAll("NS", namespace);
const map = (metadata: unknown, more: object = {}) => ({ apiVersion: "v1", kind: "ConfigMap", metadata, ...more });

beforeAll(async () => {
  api = await openApi(inject("kubeconfig"));
  namespace = `conf-${randomBytes(4).toString("hex")}`;
  expect(
    (await api.ask("POST", "/api/v1/namespaces", { body: { ...map({ name: namespace }), kind: "Namespace" } })).status,
  ).toBe(201);
  expect((await api.ask("POST", filled(maps), { body: map({ name: "there" }) })).status).toBe(201);
});
afterAll(async () => {
  await api.ask("DELETE", `/api/v1/namespaces/${namespace}`);
  api.close();
});

const json = (bytes: Buffer | string): Ask => ({ bytes, headers: { "Content-Type": "application/json" } });
const yaml = (bytes: string): Ask => ({ bytes, headers: { "Content-Type": "application/yaml" } });
const protobuf = (hex: string): Ask => ({
  bytes: Buffer.from(hex.replaceAll(" ", ""), "hex"),
  headers: { "Content-Type": "application/vnd.kubernetes.protobuf" },
});

/** Each line is ten of the line before: a billion nodes in a few hundred bytes. */
const aliases = Array.from(
  { length: 10 },
  (_, n) =>
    `a${n}: &a${n} [${Array(10)
      .fill(n === 0 ? "x" : `*a${n - 1}`)
      .join(",")}]`,
);
const deep = 100_000;
const terms = Array.from({ length: 10_000 }, (_, n) => `a${n}=b`).join(",");

type Row = readonly [what: string, method: string, path: string, ask: Ask | undefined, statuses: readonly number[]];

const rows: readonly Row[] = [
  ["JSON that is cut off", "POST", maps, json('{"apiVersion":"v1","kind":"Config'), [400]],
  ["two JSON values", "POST", maps, json(`${JSON.stringify(map({ name: "a" }))}{}`), [400]],
  ["a byte order mark", "POST", maps, json(`\ufeff${JSON.stringify(map({ name: "a" }))}`), [400]],
  ["a body that is null", "POST", maps, json("null"), [400, 422]],
  ["a body that is a list", "POST", maps, json("[]"), [400]],
  ["a body that is a text", "POST", maps, json('"x"'), [400]],
  ["an empty object", "POST", maps, json("{}"), [400, 422]],
  ["another kind than the path's", "POST", maps, { body: { ...map({ name: "a" }), kind: "Secret" } }, [400]],
  ["another version than the path's", "POST", maps, { body: { ...map({ name: "a" }), apiVersion: "v2" } }, [400]],
  ["metadata that is null", "POST", maps, { body: map(null) }, [400, 422]],
  ["metadata that is a text", "POST", maps, { body: map("x") }, [400, 422]],
  ["a label that is a number", "POST", maps, { body: map({ name: "a", labels: { a: 1 } }) }, [400, 422]],
  ["a name with capitals", "POST", maps, { body: map({ name: "A_b" }) }, [422]],
  ["a name of 254 characters", "POST", maps, { body: map({ name: "a".repeat(254) }) }, [422]],
  ["a name of two dots", "POST", maps, { body: map({ name: ".." }) }, [422]],
  ["neither name nor generateName", "POST", maps, { body: map({}) }, [422]],
  ["an escaped slash in a name", "GET", `${maps}/a%2fb`, undefined, [400, 404]],
  ["another namespace than the path's", "POST", maps, { body: map({ name: "a", namespace: "other" }) }, [400]],
  ["a revision that is still to come", "GET", `${maps}?resourceVersion=${2 ** 50}`, undefined, [504]],
  ["a revision of one object that is a word", "GET", `${maps}/there?resourceVersion=abc`, undefined, [400, 422]],
  ["a negative limit", "GET", `${maps}?limit=-1`, undefined, [400]],
  [
    "a selector of ten thousand terms",
    "GET",
    `${maps}?labelSelector=${encodeURIComponent(terms)}`,
    undefined,
    [400, 414, 431],
  ],
  ["a number that is none", "POST", maps, json('{"apiVersion":"v1","kind":"ConfigMap","data":NaN}'), [400]],
  [
    "a number beyond all numbers",
    "POST",
    maps,
    json('{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","generation":1e400}}'),
    [400],
  ],
  ["a body of more than 3 MiB", "POST", maps, json(`{"data":{"a":"${"x".repeat(3 * 1024 * 1024 + 1)}"}}`), [400, 413]],
  ["lists a hundred thousand deep", "POST", maps, json(`{"data":${"[".repeat(deep)}${"]".repeat(deep)}}`), [400]],
  ["YAML whose aliases grow", "POST", maps, yaml(`${aliases.join("\n")}\n`), [400]],
  ["protobuf of a kind that nobody knows", "POST", maps, protobuf("6b387300 0a0a 0a027631 1204 4e6f6e65"), [400, 415]],
  ["protobuf with a negative length", "POST", maps, protobuf("6b387300 0affffffffffffffffff01"), [400]],
  ["a finalizer that is no name", "POST", maps, { body: map({ name: "a", finalizers: ["a b"] }) }, [422]],
  [
    "an owner without uid",
    "POST",
    maps,
    { body: map({ name: "a", ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "p" }] }) },
    [422],
  ],
];

test.each(rows)("%s is refused", async (_what, method, path, ask, statuses) => {
  const { status, json: body, text } = await api.ask(method, filled(path), ask);
  expect(statuses, text).toContain(status);
  // A head that is too large is refused before anybody knows what it asks for.
  if (status !== 414 && status !== 431) expect(body).toMatchObject({ kind: "Status", status: "Failure", code: status });
});

describe("what is unusual and right", () => {
  test("keys that mean something elsewhere are stored and returned as they are", async () => {
    const body =
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"keys"},"data":{"__proto__":"c","constructor":"a","toString":"b"}}';
    expect((await api.ask("POST", filled(maps), json(body))).status).toBe(201);
    const kept = '"data":{"__proto__":"c","constructor":"a","toString":"b"}';
    expect((await api.ask("GET", filled(`${maps}/keys`))).text).toContain(kept);
    const changed = await api.ask("PATCH", filled(`${maps}/keys`), {
      bytes: '[{"op":"replace","path":"/data/__proto__","value":"d"}]',
      headers: { "Content-Type": "application/json-patch+json" },
    });
    expect(changed.text).toContain('"__proto__":"d"');
  });

  test("a finalizer holds a deletion, and none is added meanwhile", async () => {
    expect(
      (await api.ask("POST", filled(maps), { body: map({ name: "held", finalizers: ["example.org/a"] }) })).status,
    ).toBe(201);
    const deleted = await api.ask("DELETE", filled(`${maps}/held`));
    expect([200, 202]).toContain(deleted.status);
    const patch = (finalizers: readonly string[]): Ask => ({
      bytes: JSON.stringify({ metadata: { finalizers } }),
      headers: { "Content-Type": "application/merge-patch+json" },
    });
    const more = await api.ask("PATCH", filled(`${maps}/held`), patch(["example.org/a", "example.org/b"]));
    expect(more.status, more.text).toBe(422);
    expect((await api.ask("PATCH", filled(`${maps}/held`), patch([]))).status).toBe(200);
    expect((await api.ask("GET", filled(`${maps}/held`))).status).toBe(404);
  });

  test("an object that owns itself can be stored and deleted", async () => {
    const { json: stored } = await api.ask("POST", filled(maps), { body: map({ name: "self" }) });
    const owner = { apiVersion: "v1", kind: "ConfigMap", name: "self", uid: stored["metadata"]?.["uid"] };
    const body = JSON.stringify({ metadata: { ownerReferences: [owner] } });
    const type = { "Content-Type": "application/merge-patch+json" };
    expect((await api.ask("PATCH", filled(`${maps}/self`), { bytes: body, headers: type })).status).toBe(200);
    expect((await api.ask("DELETE", filled(`${maps}/self`))).status).toBe(200);
  });
});
