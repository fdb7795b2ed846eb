import { type ApiClient, getOrUndefined, refTo } from "#kernel/kit/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { Build, Project } from "../kinds.ts";
import { buildPrefix, numberIn, type Numbers, projectPrefix } from "./numbers.ts";
import type { Records } from "./records.ts";

export const numberTaken = "NumberTaken";

interface NumberParts {
  readonly client: ApiClient;
  readonly records: Records;
  readonly signal: AbortSignal;
}

/** Gives a build the number in its name if it is free, else the next one. Rejects with a conflict if the build changed.
 */
export async function giveNumber(parts: NumberParts & { readonly build: Stored<Build> }): Promise<undefined> {
  const { client, records, build, signal } = parts;
  const own = numberIn(buildPrefix, build.metadata.name);
  // A name like build-7 means number 7.
  const isFree = own !== undefined && records.build(own) === undefined;
  const { namespace = "" } = build.metadata;
  // Asks the server, because another process may just have created it.
  const isNamed = async (number: number): Promise<boolean> => {
    const ref = { type: Build, namespace, name: `${buildPrefix}-${number}` };
    return (await getOrUndefined(client, ref, signal)) !== undefined;
  };
  const buildId = isFree ? own : await nextFree(records.buildNumbers, (number) => records.build(number), isNamed);
  await client.patch(
    refTo(Build, build),
    { type: "merge", body: { metadata: at(build), spec: { buildId } } },
    { signal },
  );
}

export async function giveProjectNumber(
  parts: NumberParts & { readonly project: Stored<Project> },
): Promise<undefined> {
  const { client, records, project, signal } = parts;
  const own = numberIn(projectPrefix, project.metadata.name);
  const isFree = own !== undefined && records.project(own) === undefined;
  const { namespace = "" } = project.metadata;
  const isNamed = async (number: number): Promise<boolean> => {
    const ref = { type: Project, namespace, name: `${projectPrefix}-${number}` };
    return (await getOrUndefined(client, ref, signal)) !== undefined;
  };
  const projectId = isFree ? own : await nextFree(records.projectNumbers, (number) => records.project(number), isNamed);
  const body = { metadata: at(project), spec: { projectId } };
  await client.patch(refTo(Project, project), { type: "merge", body }, { signal });
}

const at = ({ metadata: { uid, resourceVersion } }: Stored) => ({ uid, resourceVersion });

async function nextFree(
  numbers: Numbers,
  holderOf: (number: number) => unknown,
  isNamed: (number: number) => Promise<boolean>,
): Promise<number> {
  for (;;) {
    const number = numbers.next();
    if (holderOf(number) === undefined && !(await isNamed(number))) return number;
  }
}
