import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import type { TestProject } from "vitest/node";
import { endRunner, removeDirectory, root, startServer, temporaryDirectory } from "#test/support/slipway.ts";
import { collectHiddenValues } from "./hidden-values.ts";

// The server under test: the one of $KUBECONFIG_UNDER_TEST, else one of our own for the whole run.

declare module "vitest" {
  interface ProvidedContext {
    readonly kubeconfig: string;
    /** The server is ours, started for this run. */
    readonly isEmbedded: boolean;
    /** The programs to test with, the oldest first. Those that are missing have a path where nothing is. */
    readonly kubectls: readonly { readonly minor: string; readonly path: string }[];
  }
}

export async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const listed = execFileSync(process.execPath, [join(root, "scripts/kubectl-minors.mjs"), "--list"], {
    encoding: "utf8",
  });
  project.provide("kubectls", JSON.parse(listed));
  const given = process.env["KUBECONFIG_UNDER_TEST"];
  if (given !== undefined) {
    if (!existsSync(given)) throw new Error(`KUBECONFIG_UNDER_TEST names ${given}, which does not exist`);
    process.stderr.write(
      "skipped, because they stop or overload their server: soak, steady, exhaustion, restarts, compaction\n",
    );
    project.provide("kubeconfig", resolve(given));
    project.provide("isEmbedded", false);
    return undefined;
  }
  const directory = await temporaryDirectory();
  const server = await startServer(directory, ["--log-level", "info"]);
  project.provide("kubeconfig", server.kubeconfig);
  project.provide("isEmbedded", true);
  const hidden = await collectHiddenValues(server.kubeconfig);
  return async () => {
    try {
      await hidden.check(server);
      const code = await server.stop();
      if (code !== 0) throw new Error(`the server under test ended with ${code}, having logged\n${server.log()}`);
    } catch (thrown) {
      // What is thrown here is printed and, without this, forgotten.
      process.exitCode = 1;
      throw thrown;
    } finally {
      await server.stop();
      await endRunner(directory);
      await removeDirectory(directory);
    }
  };
}
