import { expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { memoryStore } from "../store/open.ts";
import {
  createStaticToken,
  Credential,
  credentialAdmission,
  credentialHash,
  credentialName,
  findCredential,
  newCredential,
  newToken,
} from "./credential.ts";

const now = Date.parse("2026-01-01T00:00:00Z");
const hash = credentialHash("shown");
const spec = { user: "ann", groups: ["devs"], form: "Token", sha256: hash } as const;

/** A store that holds this object under its name. */
async function storeWith(object: unknown) {
  const store = memoryStore({ clock: new FakeClock(now) });
  const { group, plural: resource } = Credential;
  const made = { ...(object as object), metadata: { uid: "u", name: credentialName(hash) } };
  await store.write((transaction) =>
    transaction.put({ group, resource, namespace: "", name: credentialName(hash) }, made as never),
  );
  return store;
}

test("a token has 256 random bits, of which the store keeps the hash only", async () => {
  const store = memoryStore();
  const token = await createStaticToken(store, "ann", ["slipway:viewers"]);
  expect(Buffer.from(token, "base64url")).toHaveLength(32);
  const { entries } = store.page({ group: Credential.group, resource: Credential.plural }, {});
  expect(entries.map(({ bytes }) => bytes.toString())).toEqual([expect.not.stringContaining(token)]);
  expect(findCredential(store, "Token", credentialHash(token), now)).toEqual({
    user: "ann",
    groups: ["slipway:viewers", "system:authenticated"],
  });
  expect(findCredential(store, "Token", credentialHash(newToken()), now)).toBeUndefined();
});

test("a credential lets in with what it was made for only", async () => {
  const store = await storeWith(newCredential(spec));
  expect(findCredential(store, "Token", hash, now)?.user).toBe("ann");
  expect(findCredential(store, "ClientCertificate", hash, now)).toBeUndefined();
  const sibling = `${hash.slice(0, 16)}${"0".repeat(48)}`;
  expect(findCredential(store, "Token", sibling, now)).toBeUndefined();
});

test("a credential that has ended lets nobody in, and so does one whose end cannot be read", async () => {
  const until = await storeWith(newCredential({ ...spec, until: now + 1000 }));
  expect(findCredential(until, "Token", hash, now + 999)?.user).toBe("ann");
  expect(findCredential(until, "Token", hash, now + 1000)).toBeUndefined();
  const unreadable = await storeWith({ spec: { ...spec, expiresAt: "soon" } });
  expect(findCredential(unreadable, "Token", hash, 0)).toBeUndefined();
});

test.each([{}, { spec: 7 }, { spec: { sha256: hash, form: "Token" } }])(
  "what is no credential is nobody's: %j",
  async (object) => {
    expect(findCredential(await storeWith(object), "Token", hash, now)).toBeUndefined();
  },
);

test("the name is the beginning of the hash, and a credential stays what it is", () => {
  const good = JSON.parse(JSON.stringify(newCredential(spec))) as never;
  expect(credentialAdmission.validate(good)).toEqual({ causes: [], warnings: [] });
  expect(credentialAdmission.validate(good, good).causes).toEqual([]);
  const other = JSON.parse(JSON.stringify(newCredential({ ...spec, groups: ["system:masters"] }))) as never;
  expect(credentialAdmission.validate(other, good).causes).toMatchObject([{ field: "spec" }]);
  const renamed = { ...(good as object), metadata: { name: "ann" } } as never;
  expect(credentialAdmission.validate(renamed).causes).toMatchObject([{ field: "metadata.name" }]);
});
