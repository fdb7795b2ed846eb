import type { LookupAddress } from "node:dns";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { ok, systemClock } from "#lib/base/index.ts";
import { EgressRules } from "#kernel/couriers/index.ts";
import { clientWith, fakeApp, fakeScope } from "../ops/testing/fake-scope.ts";
import { renderHelm } from "./helm.ts";
import { openRemote } from "./remote.ts";

const root = mkdtempSync(join(tmpdir(), "slipway-egress-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Names as a server of names answers that an attacker runs. */
const names = (found: Readonly<Record<string, string>>) =>
  ((host: string, _options: object, done: (failure: Error | null, found: LookupAddress[]) => void) => {
    const address = found[host];
    if (address === undefined) done(new Error(`getaddrinfo ENOTFOUND ${host}`), []);
    else done(null, [{ address, family: address.includes(":") ? 6 : 4 }]);
  }) as ConstructorParameters<typeof EgressRules>[1];

const inside = { "metadata.test": "169.254.169.254", "git.test": "192.0.2.7" };
const parts = (environment: Readonly<Record<string, string | undefined>> = {}) => ({
  templates: { renderChart: () => Promise.resolve(ok({ objects: [], chart: "a" })) },
  directory: join(root, "cache"),
  environment: { PATH: process.env["PATH"], ...environment },
  egress: new EgressRules(["169.254.0.0/16"], names(inside)),
});
const scope = () => Object.assign(fakeScope(fakeApp([]), { clients: { local: clientWith() } }), { clock: systemClock });
const render = (source: string, environment?: Readonly<Record<string, string>>) =>
  renderHelm(parts(environment))({ source }, scope());
const refused = { kind: "error", message: expect.stringContaining("address 169.254.169.254 is denied by EgressDeny") };

test.each([
  "git@169.254.169.254:a/b.git",
  "metadata.test:a/b.git",
  "ssh://git@metadata.test:2222/a.git",
  "git://metadata.test/a.git",
  "http://169.254.169.254/a.git",
  "https://metadata.test/a.git",
  "http://[::ffff:a9fe:a9fe]/a.git",
  "https://metadata.test/chart.tgz",
])("attack: the address that %s leads to is denied", async (source) => {
  const text = JSON.stringify(await render(source));
  expect(text).toMatch(/address (?:169\.254\.169\.254|::ffff:a9fe:a9fe) is denied by EgressDeny/);
});

test("attack: Git follows a redirect only to an address that is not denied", async () => {
  const asked: string[] = [];
  const listener: RequestListener = (request, response) => {
    asked.push(request.url ?? "");
    const location = `http://metadata.test${request.url ?? ""}`;
    response.writeHead(302, { location }).end();
  };
  const server = createServer(listener);
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : 0;
  try {
    // A proxy of loopback addresses would not be asked by most programs.
    expect(await render(`http://127.0.0.1:${port}/a.git`, { no_proxy: "*", NO_PROXY: "*" })).toEqual(refused);
    expect(asked).toHaveLength(1);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

test("attack: SSH connects to the address that was checked, with the host's key of the name", async () => {
  const ssh = join(root, "ssh");
  writeFileSync(ssh, `#!/bin/sh\necho "$@" >> ${root}/words\nexit 255\n`);
  chmodSync(ssh, 0o755);
  const words = async (source: string) => {
    rmSync(join(root, "words"), { force: true });
    await render(source, { GIT_SSH_COMMAND: ssh });
    return readFileSync(join(root, "words"), "utf8");
  };
  expect(await words("git@git.test:a/b.git")).toMatch(
    /-o HostName=192\.0\.2\.7 -o HostKeyAlias=git\.test .*git@git\.test/,
  );
  expect(await words("ssh://git@git.test:2222/a.git")).toContain(
    "-o HostName=192.0.2.7 -o HostKeyAlias=[git.test]:2222 ",
  );
});

test("attack: a host that a shell would read as a command is refused", async () => {
  for (const source of ["ssh://git@a'$(touch x)'/b.git", "git@a';touch${IFS}x;':b.git"]) {
    const opened = await openRemote(source, undefined, root, scope(), parts());
    expect(opened, source).toEqual({ ok: false, error: expect.stringMatching(/^expected an address/) as string });
  }
});

test("a repository by git:// is read from the address that was checked", async () => {
  const opened = await openRemote("git://git.test:9000/a.git", undefined, root, scope(), parts());
  expect(opened).toMatchObject({ ok: true, value: { source: { url: "git://192.0.2.7:9000/a.git" } } });
});
