import { type ApiClient, getOrUndefined, refTo } from "#kernel/kit/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { Build, Project } from "../kinds.ts";
import { buildPrefix, numberIn, type Numbers, projectPrefix } from "./numbers.ts";
import type { Records } from "./records.ts";

/** Why a build has failed whose number is another one's. */
export const numberTaken = "NumberTaken";

/** What giving a number takes; it is given by the controller alone. */
interface NumberParts {
  readonly client: ApiClient;
  readonly records: Records;
  readonly signal: AbortSignal;
}

/** Gives a build its number: the one of its name where nobody has it, else the next one. Refused with a conflict when the build has changed. */
export async function giveNumber(parts: NumberParts & { readonly build: Stored<Build> }): Promise<undefined> {
  const { client, records, build, signal } = parts;
  const own = numberIn(buildPrefix, build.metadata.name);
  // Who names a build with kubectl as REST does means its number.
  const isFree = own !== undefined && records.build(own) === undefined;
  const { namespace = "" } = build.metadata;
  // Asked of the server, because another process may have created it a moment ago.
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

/** The same for a project. */
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

/** Of this version and no other. */
const at = ({ metadata: { uid, resourceVersion } }: Stored) => ({ uid, resourceVersion });

/** A number that neither an object has nor the name of one, which another process may have created a moment ago. */
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
