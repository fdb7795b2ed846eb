import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { systemClock } from "#lib/base/index.ts";
import { gitIn } from "./git.ts";

test("attack: Git has neither keys, agents nor settings of the server's user", async () => {
  const environment = {
    PATH: process.env["PATH"],
    HOME: "/home/server",
    GNUPGHOME: "/home/server/.gnupg",
    XDG_CONFIG_HOME: "/home/server/.config",
    SSH_AUTH_SOCK: "/run/agent",
    SSH_AGENT_PID: "1",
    GIT_ASKPASS: "/usr/bin/passwords",
    GIT_CONFIG_COUNT: "1",
    GIT_PROXY_COMMAND: "/bin/false",
  };
  const world = { environment, clock: systemClock, signal: new AbortController().signal };
  const git = gitIn(tmpdir(), { source: { url: "git@example.org:a.git", scheme: "ssh" } }, world);
  const done = await git("-c", "alias.seen=!env", "seen");
  expect(done).toMatchObject({ ok: true });
  const seen = Object.fromEntries((done.ok ? done.value : "").split("\n").map((line) => line.split(/=(.*)/s, 2)));
  expect(seen).toMatchObject({ HOME: "/nonexistent", GNUPGHOME: "/nonexistent", GIT_CONFIG_GLOBAL: "/dev/null" });
  expect(JSON.stringify(seen)).not.toMatch(/\/home\/server|\/run\/agent|passwords|\/bin\/false/);
  expect(seen["GIT_SSH_COMMAND"]).toMatch(/^ssh -F \/dev\/null -o IdentitiesOnly=yes -o IdentityAgent=none/);
});
