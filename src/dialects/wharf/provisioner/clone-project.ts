import type { CloneWorld } from "../clone/clone.ts";
import { clone, projectDirectory } from "../clone/clone.ts";
import type { Failure } from "./failed-results.ts";
import type { WorkerRequest } from "./parameters.ts";

export type CloneSource = Pick<WorkerRequest, "source" | "branch" | "ref" | "commit" | "token" | "subDirectory">;

export async function cloneProject(
  directory: string,
  request: CloneSource,
  world: CloneWorld,
): Promise<Failure | { readonly directory: string }> {
  const cloned = await clone({ ...request, directory }, world);
  if (!cloned.ok) {
    const { reason, lines } = cloned.error;
    if (reason === "Aborted")
      return { reason: "Cancelled", message: "cancelled while the repository was cloned", lines };
    return { reason: "CloneFailed", message: `the repository cannot be cloned: ${explained[reason]}`, lines };
  }
  const project = await projectDirectory(directory, request.subDirectory);
  if (project.ok) return { directory: project.value };
  return { reason: "CloneFailed", message: project.error, lines: [] };
}

const explained = {
  Authentication: "its host does not take the credential",
  NotFound: "it, or what was asked for in it, does not exist",
  Unreachable: "its host cannot be reached",
} as const;
