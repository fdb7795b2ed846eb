import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { MemoryWorld } from "../testing/memory-world.ts";
import { type KeyPair, newKeyPair, seal } from "./box.ts";
import { createSecureParams } from "./secure-params.ts";

const random = (length: number) => randomBytes(length);
const keys: Readonly<Record<string, KeyPair>> = { "profiles/p": newKeyPair(random), "stages/p": newKeyPair(random) };
const keyOf = (place: string): KeyPair => keys[place] ?? newKeyPair(random);
const world = new MemoryWorld({ profiles: [{ Name: "p" }, { Name: "global" }], stages: [{ Name: "p" }] });
const secure = createSecureParams({
  world,
  sealKey: (collection, key) => Promise.resolve(keyOf(`${collection}/${key}`).secretKey),
});
const sealedFor = (place: string) => ({ ...seal(keyOf(place).publicKey, "s3cret", random) });

test("a value is opened by the key of its owner, whichever collection has the name", async () => {
  expect(await secure.open("p", sealedFor("profiles/p"))).toBe("s3cret");
  expect(await secure.open("p", sealedFor("stages/p"))).toBe("s3cret");
});

test("a value of another owner is refused without its content", async () => {
  const refusal = "a secure param of global cannot be opened: SecureData corrupted";
  await expect(secure.open("global", sealedFor("profiles/p"))).rejects.toThrow(refusal);
  await expect(secure.open("nobody", sealedFor("profiles/p"))).rejects.toThrow(
    "nobody cannot be opened: it has no key",
  );
});

test("the public key is 32 bytes in base64, the same each time", async () => {
  const key = await secure.publicKey("profiles", "p");
  expect(Buffer.from(key, "base64")).toHaveLength(32);
  expect(await secure.publicKey("profiles", "p")).toBe(key);
});
