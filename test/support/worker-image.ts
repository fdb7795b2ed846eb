import { chmod, copyFile, cp, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { TestEngine } from "./docker-engine.ts";
import { exec, slipwayBin } from "./slipway.ts";

/** The image of workers in tests. */
export const workerImage = "slipway-worker:test";

const gitCore = "/usr/lib/git-core";

/**
 * Gives an engine an image of workers: the built product, with this machine's own node, Git, busybox and the libraries that these need. What
 * people build is made by `images/worker/Dockerfile`, whose base is a registry's.
 */
export async function importWorkerImage(engine: TestEngine, directory: string): Promise<void> {
  const root = join(directory, "worker-root");
  const programs = [process.execPath, "/usr/bin/git", "/usr/bin/busybox", `${gitCore}/git-remote-http`];
  for (const program of programs)
    for (const file of [program, ...(await librariesOf(program))]) await bring(root, file);
  for (const name of ["bin", "tmp", "root", "etc", "usr/lib/git-core"])
    await mkdir(join(root, name), { recursive: true });
  for (const name of ["sh", "sleep", "seq", "cat", "ls"]) await symlink("/usr/bin/busybox", join(root, "bin", name));
  const product = dirname(dirname(slipwayBin));
  for (const name of ["bin", "dist", "package.json"])
    await cp(join(product, name), join(root, "opt/slipway", name), { recursive: true });
  await writeFile(join(root, "bin/slipway"), `#!/bin/sh\nexec ${process.execPath} /opt/slipway/bin/slipway.cjs "$@"\n`);
  await chmod(join(root, "bin/slipway"), 0o755);
  const tar = join(directory, "worker.tar");
  await exec("tar", ["-C", root, "-cf", tar, "."]);
  const changes = ["ENV PATH=/bin:/usr/bin", "ENV HOME=/root"].flatMap((change) => ["--change", change]);
  const done = await engine.docker("import", ...changes, tar, workerImage);
  if (done.code !== 0) throw new Error(done.err);
  await rm(root, { recursive: true, force: true });
  await rm(tar, { force: true });
}

/** Absolute paths of what a program is linked with; none of one that stands alone. */
async function librariesOf(program: string): Promise<readonly string[]> {
  const { out } = await exec("ldd", [program]);
  return [...out.matchAll(/(?:=> |^\s*)(\/\S+)/gm)].map(([, path = ""]) => path);
}

/** A file of this machine at the same path below another root; one that is a link as what it leads to. */
async function bring(root: string, file: string): Promise<void> {
  await mkdir(dirname(join(root, file)), { recursive: true });
  await copyFile(file, join(root, file));
}
