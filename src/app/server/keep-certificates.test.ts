import { X509Certificate } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FakeClock, silentLog } from "#lib/base/index.ts";
import { ensureCertificates } from "#kernel/apiserver/index.ts";
import { keepCertificates } from "./keep-certificates.ts";

const day = 86_400_000;

test("a name that is asked for is in the certificate from then on, and its users are told", async () => {
  const parent = await mkdtemp(join(tmpdir(), "slipway-renewal-"));
  const clock = new FakeClock();
  const first = await ensureCertificates(join(parent, "pki"), clock.now());
  const told: string[] = [];
  const keeper = keepCertificates(
    { directory: join(parent, "pki"), first },
    { clock, log: silentLog },
    async ({ cert }) => {
      told.push(cert);
    },
  );
  const [one, other] = await Promise.all([keeper.include("172.30.0.1"), keeper.include("172.31.0.1")]);
  for (const name of ["127.0.0.1", "172.30.0.1", "172.31.0.1"])
    expect(new X509Certificate(other.cert).checkIP(name)).toBe(name);
  expect(new X509Certificate(one.cert).checkIP("172.30.0.1")).toBe("172.30.0.1");
  expect(told.at(-1)).toBe(other.cert);
  const count = told.length;
  await keeper.include("172.30.0.1");
  expect(told).toHaveLength(count);
  await keeper.close();
  await rm(parent, { recursive: true, force: true });
});

test("names of the server stay in a certificate that is renewed for another one, or for its age", async () => {
  const parent = await mkdtemp(join(tmpdir(), "slipway-renewal-"));
  const [directory, clock, names] = [join(parent, "pki"), new FakeClock(), ["build.example", "192.0.2.7"]];
  const told: string[] = [];
  const keep = async () => {
    const first = await ensureCertificates(directory, clock.now(), names);
    return keepCertificates({ directory, first, names }, { clock, log: silentLog }, async ({ cert }) => {
      told.push(cert);
    });
  };
  const keeper = await keep();
  await keeper.include("172.30.0.1");
  await keeper.close();
  await clock.advance(334 * day);
  const later = await keep();
  await clock.advance(2 * day);
  await later.close();
  expect(told).toHaveLength(2);
  for (const certificate of told.map((cert) => new X509Certificate(cert))) {
    expect(certificate.checkHost("build.example")).toBe("build.example");
    expect(certificate.checkIP("192.0.2.7")).toBe("192.0.2.7");
  }
  await rm(parent, { recursive: true, force: true });
});

test("certificates are renewed while a server runs, a month before their end, and told once", async () => {
  const parent = await mkdtemp(join(tmpdir(), "slipway-renewal-"));
  const clock = new FakeClock();
  const first = await ensureCertificates(join(parent, "pki"), clock.now());
  const told: string[] = [];
  const keeping = keepCertificates({ directory: join(parent, "pki"), first }, { clock, log: silentLog }, ({ cert }) => {
    told.push(cert);
    return Promise.resolve();
  });
  await clock.advance(day / 4);
  await keeping.close();
  expect(told).toEqual([]);
  await clock.advance(340 * day);
  const later = keepCertificates({ directory: join(parent, "pki"), first }, { clock, log: silentLog }, ({ cert }) => {
    told.push(cert);
    return Promise.resolve();
  });
  await clock.advance(day / 4);
  await later.close();
  expect(told).toHaveLength(1);
  expect(told[0]).not.toBe(first.cert);
  await rm(parent, { recursive: true, force: true });
});
