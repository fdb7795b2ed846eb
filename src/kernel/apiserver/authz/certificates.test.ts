import { X509Certificate } from "node:crypto";
import { chmod, mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ensureCertificates } from "./certificates.ts";

const now = Date.UTC(2026, 0, 1);
const day = 86_400_000;

describe("serving certificates", () => {
  let parent: string;
  let dir: string;
  beforeEach(async () => {
    parent = await mkdtemp(join(tmpdir(), "slipway-certs-"));
    dir = join(parent, "pki");
  });
  afterEach(() => rm(parent, { recursive: true, force: true }));

  test("the first call makes an authority and a certificate for every loopback name", async () => {
    const made = await ensureCertificates(dir, now, ["build.example"]);
    const certificate = new X509Certificate(made.cert);
    const authority = new X509Certificate(made.ca);
    expect(certificate.verify(authority.publicKey)).toBe(true);
    expect(certificate.checkIssued(authority)).toBe(true);
    expect(authority.ca).toBe(true);
    expect(certificate.ca).toBe(false);
    for (const name of ["localhost", "build.example"]) expect(certificate.checkHost(name)).toBe(name);
    for (const address of ["127.0.0.1", "::1"]) expect(certificate.checkIP(address)).toBe(address);
  });

  test("keys are readable by their owner only", async () => {
    await ensureCertificates(dir, now);
    for (const file of ["ca.key", "ca.crt", "server.key", "server.crt"]) {
      expect((await stat(join(dir, file))).mode & 0o777).toBe(0o600);
    }
    expect((await stat(dir)).mode & 0o777).toBe(0o700);
  });

  test("a second call uses what is there", async () => {
    const first = await ensureCertificates(dir, now);
    expect(await ensureCertificates(dir, now + day)).toEqual(first);
  });

  test("a serving certificate with less than 30 days is renewed under the same authority", async () => {
    const first = await ensureCertificates(dir, now);
    const later = await ensureCertificates(dir, now + 340 * day);
    expect(later.ca).toBe(first.ca);
    expect(later.cert).not.toBe(first.cert);
    expect(await readFile(join(dir, "server.crt"), "utf8")).toBe(later.cert);
  });

  test("a new name renews the serving certificate", async () => {
    const first = await ensureCertificates(dir, now);
    const wider = await ensureCertificates(dir, now, ["10.0.0.7"]);
    expect(wider.ca).toBe(first.ca);
    expect(new X509Certificate(wider.cert).checkIP("10.0.0.7")).toBe("10.0.0.7");
  });

  test("a key that others can read is refused", async () => {
    await ensureCertificates(dir, now);
    await chmod(join(dir, "server.key"), 0o644);
    await expect(ensureCertificates(dir, now)).rejects.toMatchObject({ code: "insecure-permissions" });
  });
});
