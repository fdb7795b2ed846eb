import { createHmac } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { memoryStore } from "../store/open.ts";
import type { Store } from "../store/store.ts";
import { AccountTokens, issuer, newAccountKey, type TokenClaims } from "./account-tokens.ts";

const pem = newAccountKey();
let store: Store;
let clock: FakeClock;
let tokens: AccountTokens;
let claims: TokenClaims;

const put = (resource: string, name: string, uid: string) =>
  store.write((transaction) => {
    const key = { group: "", resource, namespace: "team", name };
    transaction.put(key, { metadata: { name, namespace: "team", uid } });
  });
const remove = (resource: string, name: string) =>
  store.write((transaction) => void transaction.remove({ group: "", resource, namespace: "team", name }));

beforeEach(async () => {
  clock = new FakeClock();
  store = memoryStore({ clock });
  tokens = new AccountTokens(store, clock, pem);
  await put("serviceaccounts", "builder", "uid-1");
  const account = { name: "builder", uid: "uid-1" };
  claims = { namespace: "team", account, audiences: [issuer], expiresAt: clock.now() + 600_000 };
});

const part = (token: string, index: number) =>
  JSON.parse(Buffer.from(token.split(".")[index] ?? "", "base64url").toString()) as Record<string, unknown>;
const text = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");

describe("a token", () => {
  test("carries the claims of Kubernetes and is signed with ES256", () => {
    const token = tokens.issue({ ...claims, bound: { kind: "Pod", name: "p", uid: "uid-p" } });
    expect(part(token, 0)).toMatchObject({ alg: "ES256", kid: expect.stringMatching(/^[\w-]{43}$/) });
    expect(part(token, 1)).toMatchObject({
      iss: issuer,
      sub: "system:serviceaccount:team:builder",
      aud: [issuer],
      exp: Math.floor((clock.now() + 600_000) / 1000),
      "kubernetes.io": {
        namespace: "team",
        serviceaccount: { name: "builder", uid: "uid-1" },
        pod: { name: "p", uid: "uid-p" },
      },
    });
  });

  test("is its account, with the groups of accounts", () => {
    expect(tokens.review(tokens.issue(claims), [])?.identity).toMatchObject({
      user: "system:serviceaccount:team:builder",
      uid: "uid-1",
      groups: ["system:serviceaccounts", "system:serviceaccounts:team", "system:authenticated"],
    });
  });

  test("is good again for whoever has the key, and for nobody else", () => {
    const token = tokens.issue(claims);
    expect(new AccountTokens(store, clock, pem).review(token, [])).toBeDefined();
    expect(new AccountTokens(store, clock, newAccountKey()).review(token, [])).toBeUndefined();
    expect(new AccountTokens(store, clock, undefined).review(token, [])).toBeUndefined();
  });

  test("ends at its expiry, and not a moment later", async () => {
    const token = tokens.issue(claims);
    await clock.advance(599_000);
    expect(tokens.review(token, [])).toBeDefined();
    await clock.advance(1000);
    expect(tokens.review(token, [])).toBeUndefined();
  });

  test("is for its audiences only", () => {
    const token = tokens.issue({ ...claims, audiences: ["vault", "mail"] });
    expect(tokens.review(token, [])).toBeUndefined();
    expect(tokens.review(token, ["mail", "other"])?.audiences).toEqual(["mail"]);
    expect(tokens.review(token, ["other"])).toBeUndefined();
  });

  test("dies with its account, and does not come back with another of the name", async () => {
    const token = tokens.issue(claims);
    expect(tokens.review(token, [])).toBeDefined();
    await remove("serviceaccounts", "builder");
    expect(tokens.review(token, [])).toBeUndefined();
    await put("serviceaccounts", "builder", "uid-2");
    expect(tokens.review(token, [])).toBeUndefined();
  });

  test.each([["Pod", "pods"] as const, ["Secret", "secrets"] as const])("dies with its %s", async (kind, resource) => {
    await put(resource, "bound", "uid-b");
    const token = tokens.issue({ ...claims, bound: { kind, name: "bound", uid: "uid-b" } });
    expect(tokens.review(token, [])).toBeDefined();
    await remove(resource, "bound");
    expect(tokens.review(token, [])).toBeUndefined();
  });

  test("of a Pod names it in the extras of its user", async () => {
    await put("pods", "p", "uid-p");
    const token = tokens.issue({ ...claims, bound: { kind: "Pod", name: "p", uid: "uid-p" } });
    expect(tokens.review(token, [])?.identity.extra).toMatchObject({
      "authentication.kubernetes.io/pod-name": ["p"],
      "authentication.kubernetes.io/pod-uid": ["uid-p"],
    });
  });
});

describe("what is no token of ours", () => {
  test("is nobody's, however it was forged", () => {
    const token = tokens.issue(claims);
    const [head = "", payload = "", signature = ""] = token.split(".");
    const header = part(token, 0);
    const body = part(token, 1);
    const forged = [
      "",
      ".",
      "..",
      "a.b",
      `${token}.x`,
      `${head}.${payload}`,
      `${head}.${payload}.`,
      `${head}.${payload}.${signature.slice(0, -4)}`,
      `${head}.${text({ ...body, sub: "system:serviceaccount:kube-system:root" })}.${signature}`,
      `${text({ ...header, alg: "none" })}.${payload}.`,
      `${text({ ...header, alg: "none" })}.${payload}.${signature}`,
      `${text({ ...header, kid: "other" })}.${payload}.${signature}`,
      `${text([])}.${payload}.${signature}`,
      `%%%.${payload}.${signature}`,
    ];
    // The old trick of signing with the public key as if it were a shared secret.
    const hs = `${text({ ...header, alg: "HS256" })}.${payload}`;
    forged.push(`${hs}.${createHmac("sha256", pem).update(hs).digest("base64url")}`);
    for (const one of forged) expect([one, tokens.review(one, [])]).toEqual([one, undefined]);
    expect(tokens.review(token, [])).toBeDefined();
  });

  test("fills no memory: what is remembered is bounded and was signed by us", () => {
    const all = Array.from({ length: 1100 }, (_, index) =>
      tokens.issue({ ...claims, expiresAt: claims.expiresAt + index * 1000 }),
    );
    for (const token of all) expect(tokens.review(token, [])).toBeDefined();
    expect(tokens.review(all[0] ?? "", [])).toBeDefined();
  });
});
