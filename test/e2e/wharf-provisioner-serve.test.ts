import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { writeKubeconfig } from "#kernel/apiserver/index.ts";
import { startTestServer } from "#kernel/apiserver/testing/index.ts";
import { bareRepository } from "../support/git-servers.ts";
import { cleanEnvironment, removeDirectory, slipway, slipwayBin, temporaryDirectory } from "../support/slipway.ts";

// A provisioner as a process of its own, for a Kubernetes API that has no controllers: what it knows of it is its kubeconfig.

test("a provisioner of a cluster stores workers there, and runs them on its own machine", async () => {
  const root = await temporaryDirectory();
  const cluster = await startTestServer();
  const kubeconfig = `${root}/kubeconfig`;
  await writeKubeconfig(kubeconfig, { url: cluster.url, caPem: cluster.ca, token: cluster.token });
  await writeFile(`${root}/token`, "open-sesame", { mode: 0o600 });
  bareRepository(root, "p.git", { ".wharf-ci.yml": "a: {b: {container: {image: x, cmds: [echo done]}}}\n" });
  const words = `wharf provisioner serve --kubeconfig ${kubeconfig} --install-crds --data-dir ${root}/data --address 127.0.0.1:0 --auth-token-file ${root}/token`;
  const program = spawn(process.execPath, [slipwayBin, ...words.split(" ")], { env: cleanEnvironment({ HOME: root }) });
  let said = "";
  for (const stream of [program.stdout, program.stderr])
    stream.on("data", (chunk: Buffer) => (said += chunk.toString()));
  try {
    await expect.poll(() => said).toMatch(/Wharf's provisioner: \S+/);
    const url = `http://${/Wharf's provisioner: (\S+)/.exec(said)?.[1]}`;
    const ask = (...more: readonly string[]) =>
      slipway(["wharf", "provisioner", ...more, "--url", url, "--auth-token-file", `${root}/token`]);
    expect((await fetch(`${url}/api/worker`)).status).toBe(401);
    expect(await ask("create", `GIT_FULLURL=${root}/p.git`, "BUILD_REF=4")).toMatchObject({ code: 0 });
    await expect.poll(async () => (await ask("list")).out).toMatch(/wharf-cmd-worker-local-4\s+4\s+Success\s+host/);
    const stored = await slipway(["get", "workers", "--kubeconfig", kubeconfig, "-o", "name"]);
    expect(stored.out).toContain("wharf-cmd-worker-local-4");
    expect(await ask("delete", "--force", "wharf-cmd-worker-local-4")).toMatchObject({ code: 0 });
    await expect.poll(async () => await readdir(`${root}/data/wharf/workers`)).toEqual([]);
  } finally {
    const ended = once(program, "exit");
    program.kill("SIGTERM");
    expect(await ended, said).toEqual([0, null]);
    await cluster.close();
    await removeDirectory(root);
  }
});
