// Makes src/kernel/rpc/gen from proto/: the types of messages, and the descriptors they are encoded by.
//   node scripts/generate-messages.mjs [FOLDER]     into another folder, to compare with what is committed
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Writes all messages into `folder`, whose content is removed before. Throws with what the compiler says. */
export function generateMessages(folder) {
  rmSync(folder, { recursive: true, force: true });
  const run = spawnSync(
    process.execPath,
    [`${root}node_modules/@bufbuild/buf/bin/buf`, "generate", "--output", resolve(folder)],
    // The compiler keeps a cache in the user's directories unless it is told otherwise.
    { cwd: `${root}proto`, encoding: "utf8", env: { ...process.env, BUF_CACHE_DIR: `${root}node_modules/.cache/buf` } },
  );
  if (run.status !== 0) throw new Error(`the messages were not generated: ${run.stderr || run.stdout || run.error}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  generateMessages(process.argv[2] ?? `${root}src/kernel/rpc/gen`);
