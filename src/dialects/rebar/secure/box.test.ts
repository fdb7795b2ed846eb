import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { isSealed, keyPairOf, newKeyPair, open, publicKeyText, seal } from "./box.ts";

const random = (length: number) => randomBytes(length);
const keys = newKeyPair(random);

test("what was sealed to a public key is opened by its secret key only", () => {
  const sealed = seal(keys.publicKey, { a: [1, null] }, random);
  expect(isSealed(sealed)).toBe(true);
  expect(open(keys.secretKey, sealed)).toEqual({ ok: true, value: { a: [1, null] } });
  expect(open(newKeyPair(random).secretKey, sealed)).toEqual({ ok: false, error: "SecureData corrupted" });
  const payload = Buffer.from(sealed.Payload, "base64");
  payload[3] = (payload[3] ?? 0) ^ 1;
  expect(open(keys.secretKey, { ...sealed, Payload: payload.toString("base64") })).toEqual({
    ok: false,
    error: "SecureData corrupted",
  });
});

test("a box of another NaCl implementation is opened", () => {
  // Made by golang.org/x/crypto/nacl/box for the secret key 00 01 02 … 1f.
  const secretKey = Uint8Array.from({ length: 32 }, (_, at) => at);
  expect(publicKeyText(keyPairOf(secretKey))).toBe("j0DFrbaPJWJK5bIU6nZ6bslNgp09e14a0bpvPiE4KF8=");
  expect(open(secretKey, foreign)).toEqual({ ok: true, value: "hunter2" });
});

const foreign = {
  Key: "fZwkMWU5glwYluV/KBl3Rnk85gy+461H2p0HuF+lXio=",
  Nonce: "yMnKy8zNzs/Q0dLT1NXW19jZ2tvc3d7f",
  Payload: "sqHy3i2oyWJqSF4bSQmSCJ8+y+8zrk8aCA==",
};

test("other values are not sealed ones", () => {
  const sealed = seal(keys.publicKey, 1, random);
  for (const value of [
    null,
    "x",
    {},
    { ...sealed, Key: "AAAA" },
    { ...sealed, Nonce: 1 },
    { ...sealed, Payload: "AA" },
  ])
    expect(isSealed(value)).toBe(false);
  expect(open(keys.secretKey, {})).toEqual({ ok: false, error: "expected SecureData with Key, Nonce and Payload" });
});
