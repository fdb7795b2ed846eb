import { execFileSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** A git repository in a new directory: the files that are told, by name, and eight more. */
export async function makeProject(directory: string, files: Readonly<Record<string, string>>): Promise<void> {
  await mkdir(directory);
  const texts = Array.from({ length: 8 }, (_, index) => [`file-${index}.txt`, "text\n"] as const);
  for (const [name, text] of [...texts, ...Object.entries(files)]) await writeFile(join(directory, name), text);
  const git = (...args: readonly string[]) => execFileSync("git", args, { cwd: directory, stdio: "ignore" });
  git("init", "-q", ".");
  git("remote", "add", "origin", "https://gitlab.example.com/group/project.git");
  git("add", "-A");
  git("-c", "user.email=bench@example.com", "-c", "user.name=bench", "commit", "-qm", "project");
}
