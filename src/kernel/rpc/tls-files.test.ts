import { connect } from "node:tls";
import { copyFileSync } from "node:fs";
import { afterEach, expect, test } from "vitest";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { CertificateFolder } from "#test/support/certificates.ts";
import { RpcListener } from "./index.ts";

const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

/** A listener with certificates, which are in a folder, and the texts it logs. */
async function start() {
  const folder = await CertificateFolder.create();
  closers.push(() => folder.close());
  for (const name of ["first", "second"]) await folder.sign(name, name);
  const put = (certificate: string, key: string): void => {
    copyFileSync(folder.file(`${certificate}.crt`), folder.file("tls.crt"));
    copyFileSync(folder.file(`${key}.key`), folder.file("tls.key"));
  };
  put("first", "first");
  const logged: string[] = [];
  const note = (message: string): void => void logged.push(message);
  const listener = await RpcListener.start({
    address: "127.0.0.1:0",
    services: [],
    clock: systemClock,
    log: { ...silentLog, warn: note, info: note },
    tls: { certificate: folder.file("tls.crt"), key: folder.file("tls.key") },
  });
  closers.push(() => listener.close());
  return { folder, put, logged, port: listener.port };
}

/** The name in the certificate that a new connection is shown. */
const nameShown = (port: number, ca: Buffer): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", ca, ALPNProtocols: ["h2"] }, () => {
      resolve(String(socket.getPeerCertificate().subject.CN));
      socket.destroy();
    });
    socket.on("error", reject);
  });

test("new connections are shown the certificate that has taken the place of the old one", async () => {
  const { folder, put, port } = await start();
  expect(await nameShown(port, folder.read("ca.crt"))).toBe("first");
  put("second", "second");
  await expect.poll(() => nameShown(port, folder.read("ca.crt"))).toBe("second");
});

test("a certificate without its key is told of, and the old one stays", async () => {
  const { folder, put, port, logged } = await start();
  put("second", "first");
  await expect.poll(() => logged).toContain("certificates were not reloaded");
  expect(await nameShown(port, folder.read("ca.crt"))).toBe("first");
});

test("certificates that cannot be read keep the listener from starting", async () => {
  const tls = { certificate: "/nowhere/tls.crt", key: "/nowhere/tls.key" };
  const started = RpcListener.start({ address: "127.0.0.1:0", services: [], clock: systemClock, log: silentLog, tls });
  await expect(started).rejects.toThrow("/nowhere/tls");
});
