import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { X509Certificate } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ensureSelfSigned } from "./self-signed.ts";

const now = Date.UTC(2026, 0, 1);
let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "slipway-cert-"));
});
afterEach(() => rm(root, { recursive: true }));

test("the certificate is made once and kept, until it is damaged or about to expire", async () => {
  const first = await ensureSelfSigned(root, now, ["198.51.100.7"]);
  const certificate = new X509Certificate(first.cert);
  expect(certificate.checkHost("localhost")).toBe("localhost");
  expect(certificate.checkIP("198.51.100.7")).toBe("198.51.100.7");
  expect(certificate.publicKey.asymmetricKeyDetails).toMatchObject({ namedCurve: "prime256v1" });
  expect(await ensureSelfSigned(root, now)).toEqual(first);
  const later = await ensureSelfSigned(root, now + 3640 * 86_400_000);
  expect(later.cert).not.toBe(first.cert);
  await writeFile(join(root, "server.crt"), "torn");
  const third = await ensureSelfSigned(root, now);
  expect(await readFile(join(root, "server.crt"), "utf8")).toBe(third.cert);
});

test("a key that other users can read is refused", async () => {
  await ensureSelfSigned(root, now);
  await chmod(join(root, "server.key"), 0o644);
  await expect(ensureSelfSigned(root, now)).rejects.toMatchObject({ code: "insecure-permissions" });
});
