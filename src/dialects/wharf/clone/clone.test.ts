import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { clone } from "./clone.ts";

test("a program that Git leaves running with its outputs open is not waited for", async () => {
  const directory = await mkdtemp(join(tmpdir(), "slipway-clone-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const left = join(directory, "left");
  // As the connection of SSH that is kept for the next one (ControlPersist).
  const script = `#!/bin/sh\n/bin/sleep 3600 &\necho $! >> ${left}\necho cloned >&2\n`;
  await writeFile(join(directory, "git"), script, { mode: 0o755 });
  onTestFinished(async () => {
    for (const pid of (await readFile(left, "utf8")).trim().split("\n")) process.kill(Number(pid), "SIGKILL");
  });
  const clock = new FakeClock();
  const said: string[] = [];
  const source = { scheme: "https", url: "https://git.example/p.git" } as const;
  const world = { environment: { PATH: directory }, clock, signal: new AbortController().signal };
  const cloning = clone(
    { source, directory: join(directory, "clone") },
    { ...world, say: (line) => void said.push(line) },
  );
  let isOver = false;
  void cloning.then(() => (isOver = true));
  await expect
    .poll(async () => {
      await clock.advance(100);
      return isOver;
    })
    .toBe(true);
  expect(await cloning).toMatchObject({ ok: true });
  expect(said).toContain("cloned");
});
