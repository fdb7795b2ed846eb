import { createPrivateKey, X509Certificate } from "node:crypto";
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ensureCertificates, issueClientCertificate, type ServingCertificates } from "./certificates.ts";

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
    for (const file of ["ca.key", "ca.crt", "server.key", "server.crt", "admin.key", "admin.crt", "sa.key"]) {
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

  test.each(["server.key", "ca.key", "admin.key", "sa.key"])("%s that others can read is refused", async (file) => {
    await ensureCertificates(dir, now);
    await chmod(join(dir, file), 0o644);
    await expect(ensureCertificates(dir, now)).rejects.toMatchObject({ code: "insecure-permissions" });
  });

  test("the administrator has a certificate for clients, renewed like the server's; the key of tokens stays", async () => {
    const first = await ensureCertificates(dir, now);
    const certificate = new X509Certificate(first.client.cert);
    expect(certificate.subject).toBe("O=system:masters\nCN=slipway:admin");
    expect(certificate.keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"]);
    expect(certificate.verify(new X509Certificate(first.ca).publicKey)).toBe(true);
    const later = await ensureCertificates(dir, now + 340 * day);
    expect(later.client.cert).not.toBe(first.client.cert);
    expect(later.accountKey).toBe(first.accountKey);
    await writeFile(join(dir, "sa.key"), "damaged");
    expect((await ensureCertificates(dir, now)).accountKey).toContain("PRIVATE KEY");
  });

  test("certificates for others are issued beside a server that runs", async () => {
    await expect(issueClientCertificate(parent, { user: "ann", groups: [] }, now, 7)).rejects.toMatchObject({
      code: expect.stringMatching(/no-authority|insecure-permissions/),
    });
    const { ca } = await ensureCertificates(dir, now);
    const pair = await issueClientCertificate(dir, { user: 'ann, "x"', groups: ["a=b", "c,d"] }, now, 7);
    const certificate = new X509Certificate(pair.cert);
    expect(certificate.verify(new X509Certificate(ca).publicKey)).toBe(true);
    expect(Date.parse(certificate.validTo)).toBe(now + 7 * day);
    expect(certificate.subject).toContain("a=b");
  });
});

describe("files that are not what they should be", () => {
  let parent: string;
  let dir: string;
  beforeEach(async () => {
    parent = await mkdtemp(join(tmpdir(), "slipway-certs-"));
    dir = join(parent, "pki");
  });
  afterEach(() => rm(parent, { recursive: true, force: true }));

  const accepts = ({ ca, cert, key }: ServingCertificates): void => {
    const certificate = new X509Certificate(cert);
    expect(certificate.checkPrivateKey(createPrivateKey(key))).toBe(true);
    expect(certificate.verify(new X509Certificate(ca).publicKey)).toBe(true);
  };

  test.each<[string, string, string]>([
    ["a certificate that is cut off", "server.crt", "-----BEGIN CERTIFICATE-----\nMIIB"],
    ["an empty certificate", "server.crt", ""],
    ["a key that is none", "server.key", "nothing"],
    ["an authority that is cut off", "ca.crt", "-----BEGIN CERTIFICATE-----\nMIIB"],
    ["an authority's key that is none", "ca.key", "nothing"],
  ])("%s is made anew", async (_what, file, text) => {
    await ensureCertificates(dir, now);
    await writeFile(join(dir, file), text);
    const mended = await ensureCertificates(dir, now);
    accepts(mended);
    expect(await ensureCertificates(dir, now)).toEqual(mended);
  });

  test.each(["server", "ca"])(
    "the key of another %s certificate, as a crash between two writes leaves it, is replaced",
    async (name) => {
      await ensureCertificates(dir, now);
      const other = join(parent, "other");
      await ensureCertificates(other, now);
      await copyFile(join(other, `${name}.key`), join(dir, `${name}.key`));
      const mended = await ensureCertificates(dir, now);
      accepts(mended);
      expect(await ensureCertificates(dir, now)).toEqual(mended);
    },
  );

  test.each(["server.crt", "server.key", "ca.key"])("without %s a pair is made anew", async (file) => {
    await ensureCertificates(dir, now);
    await rm(join(dir, file));
    accepts(await ensureCertificates(dir, now));
  });

  test("a new authority gives a new serving certificate, too", async () => {
    const first = await ensureCertificates(dir, now);
    const later = await ensureCertificates(dir, now + 3640 * day);
    expect(later.ca).not.toBe(first.ca);
    accepts(later);
    expect(Date.parse(new X509Certificate(later.cert).validTo)).toBeGreaterThan(now + 3640 * day);
  });

  test("a directory that others can enter is refused with what to do", async () => {
    await ensureCertificates(dir, now);
    await chmod(dir, 0o750);
    await expect(ensureCertificates(dir, now)).rejects.toMatchObject({
      code: "insecure-permissions",
      message: `${dir} can be used by other users of this machine (mode 750)`,
      hint: `chmod go= ${dir}`,
    });
  });

  test("a draft of an earlier life, open to all, becomes neither a key nor a danger", async () => {
    await mkdir(dir, { mode: 0o700 });
    await writeFile(join(dir, "ca.key.tmp"), "old", { mode: 0o666 });
    accepts(await ensureCertificates(dir, now));
    expect((await stat(join(dir, "ca.key"))).mode & 0o777).toBe(0o600);
    expect((await readdir(dir)).sort()).toEqual([
      "admin.crt",
      "admin.key",
      "ca.crt",
      "ca.key",
      "sa.key",
      "server.crt",
      "server.key",
    ]);
  });

  test("the names of the machine are among those served, so that a second start makes nothing", async () => {
    const { cert } = await ensureCertificates(dir, now, ["a.example", "A.EXAMPLE", "192.0.2.1", "2001:db8::1"]);
    const certificate = new X509Certificate(cert);
    expect(certificate.checkHost(hostname())).toBeDefined();
    expect(certificate.checkIP("2001:db8::1")).toBeDefined();
    expect((await ensureCertificates(dir, now, ["a.example", "192.0.2.1"])).cert).toBe(cert);
  });
});
