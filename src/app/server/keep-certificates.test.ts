import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FakeClock, silentLog } from "#lib/base/index.ts";
import { ensureCertificates } from "#kernel/apiserver/index.ts";
import { keepCertificates } from "./keep-certificates.ts";

const day = 86_400_000;

test("certificates are renewed while a server runs, a month before their end, and told once", async () => {
  const parent = await mkdtemp(join(tmpdir(), "slipway-renewal-"));
  const clock = new FakeClock();
  const first = await ensureCertificates(join(parent, "pki"), clock.now());
  const told: string[] = [];
  const keeping = keepCertificates(join(parent, "pki"), first, { clock, log: silentLog }, ({ cert }) => {
    told.push(cert);
    return Promise.resolve();
  });
  await clock.advance(day / 4);
  await keeping.close();
  expect(told).toEqual([]);
  await clock.advance(340 * day);
  const later = keepCertificates(join(parent, "pki"), first, { clock, log: silentLog }, ({ cert }) => {
    told.push(cert);
    return Promise.resolve();
  });
  await clock.advance(day / 4);
  await later.close();
  expect(told).toHaveLength(1);
  expect(told[0]).not.toBe(first.cert);
  await rm(parent, { recursive: true, force: true });
});
