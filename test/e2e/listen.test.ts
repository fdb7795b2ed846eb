import { spawn } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { get as getPlain } from "node:http";
import { get } from "node:https";
import { join } from "node:path";
import { checkServerIdentity, type PeerCertificate } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  cleanEnvironment,
  endRunner,
  exec,
  removeDirectory,
  root,
  slipway,
  slipwayBin,
  startServer,
  temporaryDirectory,
  type TestServer,
} from "#test/support/slipway.ts";

// 127.0.0.2 and its like stand for addresses of other networks: what is bound and named is the same, and nobody else can come by them.

let directory: string;
beforeAll(async () => {
  directory = await temporaryDirectory();
});
afterAll(() => removeDirectory(directory));

const authorityOf = (server: TestServer) => readFile(join(server.directory, "pki/ca.crt"), "utf8");
const kubectl = (kubeconfig: string, ...args: string[]) => exec("kubectl", ["--kubeconfig", kubeconfig, ...args]);

/** The status of an answer without credentials; the certificate has to be good for the host of `url`. */
async function ask(server: TestServer, url: string, headers: Readonly<Record<string, string>> = {}): Promise<number> {
  const ca = await authorityOf(server);
  const { hostname } = new URL(url);
  // Node would hold the certificate to the header instead.
  const isFor = (_: string, found: PeerCertificate) => checkServerIdentity(hostname, found);
  return new Promise((resolve, reject) => {
    get(url, { ca, headers, agent: false, checkServerIdentity: isFor }, (answer) =>
      resolve(answer.resume().statusCode ?? 0),
    ).once("error", reject);
  });
}

/** Ends the server; the runner of its steps goes too. */
async function end(server: TestServer): Promise<void> {
  await server.stop();
  await endRunner(server.directory);
}

describe("another address", () => {
  let server: TestServer;
  let url: string;
  beforeAll(async () => {
    const data = join(directory, "data");
    // First without, so that there is a certificate that lacks the names, and a kubeconfig that somebody has copied.
    await end(await startServer(data));
    await writeFile(join(directory, "copied"), await readFile(join(data, "kubeconfig")), { mode: 0o600 });
    server = await startServer(data, ["--listen", "127.0.0.2", "--name", "Build.Example", "--name", "203.0.113.9"]);
    url = server.url.replace("127.0.0.1", "127.0.0.2");
  });
  afterAll(() => end(server));

  test("kubectl comes by it, with the authority it knows", async () => {
    const { code, out, err } = await kubectl(server.kubeconfig, "--server", url, "get", "ns", "-o", "name");
    expect(code, err).toBe(0);
    expect(out).toContain("namespace/default");
  });

  test("the kubeconfig stays on loopback, and one of before is good still, on the port of today", async () => {
    expect(server.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    expect(await readFile(server.kubeconfig, "utf8")).toContain(server.url);
    expect((await kubectl(join(directory, "copied"), "--server", server.url, "get", "ns")).code).toBe(0);
  });

  test("the certificate has its address and names", async () => {
    const certificate = new X509Certificate(await readFile(join(server.directory, "pki/server.crt")));
    for (const address of ["127.0.0.1", "::1", "127.0.0.2", "203.0.113.9"])
      expect(certificate.checkIP(address)).toBe(address);
    for (const name of ["localhost", "build.example"]) expect(certificate.checkHost(name)).toBe(name);
    expect(certificate.checkIP("127.0.0.3")).toBeUndefined();
  });

  test("without a credential nothing is answered but health and version", async () => {
    for (const path of ["/api", "/apis", "/metrics", "/api/v1/namespaces", "/openapi/v3"])
      expect([path, await ask(server, url + path)]).toEqual([path, 401]);
    for (const path of ["/readyz", "/version"]) expect([path, await ask(server, url + path)]).toEqual([path, 200]);
  });

  test("a host that is none of its names is refused", async () => {
    for (const Host of ["127.0.0.2", "build.example:443", "BUILD.example", "203.0.113.9:1", "localhost"])
      expect([Host, await ask(server, `${url}/version`, { Host })]).toEqual([Host, 200]);
    for (const Host of ["evil.example", "build.example.evil.example", "127.0.0.3", "0.0.0.0"])
      expect([Host, await ask(server, `${url}/version`, { Host })]).toEqual([Host, 421]);
  });

  test("HTTP without TLS is not spoken there", async () => {
    const plain = new Promise((resolve, reject) => {
      getPlain(`${url.replace("https", "http")}/version`, resolve).once("error", reject);
    });
    await expect(plain).rejects.toThrow(/socket hang up|ECONNRESET/);
  });
});

test("all addresses: who can reach it is told as data and in the log, and names of others have to be given", async () => {
  const data = join(directory, "wide");
  const words = [
    "up",
    "--data-dir",
    data,
    "--listen",
    "0.0.0.0:0",
    "--port",
    "0",
    "--name",
    "build.example",
    "-o",
    "json",
  ];
  const child = spawn(process.execPath, [slipwayBin, ...words], { cwd: root, env: cleanEnvironment() });
  let log = "";
  child.stderr.on("data", (chunk: Buffer) => (log += chunk.toString()));
  const ended = new Promise((resolve) => child.once("close", resolve));
  const line = await new Promise<string>((resolve) => {
    child.stdout.once("data", (chunk: Buffer) => resolve(chunk.toString()));
    void ended.then(() => resolve(log));
  });
  const served = JSON.parse(line) as { url: string; listening: { port: number; urls: string[] }[] };
  const server = { directory: data } as TestServer;
  const port = Number(new URL(served.url).port);
  const codes = [
    await ask(server, `https://127.0.0.1:${port}/api`),
    await ask(server, `https://127.0.0.2:${port}/api`, { Host: "127.0.0.2" }).catch((thrown: Error) => thrown.message),
    await ask(server, `https://127.0.0.1:${port}/api`, { Host: "127.0.0.2" }),
    await ask(server, `https://127.0.0.1:${port}/api`, { Host: "build.example" }),
  ];
  child.kill("SIGTERM");
  await ended;
  await endRunner(data);
  expect(served).toMatchObject({
    url: `https://127.0.0.1:${port}`,
    listening: [{ address: "0.0.0.0", port, from: "other-machines" }],
  });
  expect(served.listening[0]?.urls).toContain(`https://build.example:${port}`);
  expect(codes).toEqual([401, expect.stringContaining("does not match certificate"), 421, 401]);
  expect(log).toContain(`"otherMachines":["https://`);
});

test("an address that cannot be had ends the start and leaves nothing behind", async () => {
  const data = join(directory, "refused");
  const { code, out, err } = await slipway(["up", "--data-dir", data, "--port", "0", "--listen", "203.0.113.9"]);
  expect({ code, out }).toEqual({ code: 1, out: "" });
  expect(err).toContain("cannot listen on 203.0.113.9:");
  expect(err).toContain("--listen takes addresses of this machine");
  expect((await exec("ls", [data])).out).not.toMatch(/^(?:lock|kubeconfig)$/m);
});
