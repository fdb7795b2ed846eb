import type { BootEnv, Machine, Stage, Task } from "../objects.ts";
import type { RenderPlace, RenderSubject } from "../render.ts";
import type { World } from "../world.ts";
import type { Closure, Renderable } from "./closure.ts";
import type { Learned } from "./learned.ts";
import type { Part, Parts } from "./parts.ts";
import type { MachineValues } from "./values.ts";

export interface RenderQuestion {
  readonly world: World;
  readonly subject: RenderSubject;
  readonly object: Renderable;
  readonly values: MachineValues;
  /** Indexes of its templates. */
  readonly actions: readonly number[];
  readonly place: RenderPlace;
  readonly closure: Closure;
  readonly learned: Learned;
  readonly parts: Parts;
}

/** Of all texts that one question renders. */
const maxBytes = 8 * 1024 * 1024;

/** The question of `go/rebar/render.go`. `missing` are hashes of parts that the module does not know. */
export function questionOf(question: RenderQuestion, missing: ReadonlySet<string>): string {
  const { world, subject, values, learned, closure, place, parts } = question;
  const { machine, mac, urls, collection } = subject;
  const url = urls?.provisionerUrl ?? place.provisionerUrl;
  const { task, stage, env } = objectsOf(question);
  const sent = [closure.set, ...[task, stage, env].map((object) => object && parts.of(object, shown))];
  const params = Object.fromEntries([...learned.params].map((name) => [name, values.first(name)]));
  const composed = Object.fromEntries([...learned.composed].map((name) => [name, values.composed(name)]));
  const body = JSON.stringify({
    operation: "rebarRender",
    set: closure.set.hash,
    task: sent[1]?.hash ?? "",
    stage: sent[2]?.hash ?? "",
    env: sent[3]?.hash ?? "",
    actions: question.actions,
    only: subject.path,
    isRooted: collection !== "tasks",
    machine: machine && withoutParams(machine),
    machineParams: learned.needsMachineParams ? machine?.Params : undefined,
    mac,
    params,
    composed,
    tokens: tokensOf(learned.tokens, machine, world, place),
    absent: closure.absent,
    info: learned.needsInfo ? (place.info?.() ?? {}) : undefined,
    localRepo: learned.params.has(repositories) ? localRepoOf(machine, world, place, url) : undefined,
    place: { provisionerUrl: url, apiUrl: urls?.apiUrl ?? place.apiUrl },
    maxBytes,
  });
  const wanted = [...sent, ...values.parts.values()].filter((part) => part !== undefined && missing.has(part.hash));
  return wanted.length === 0 ? body : `${body.slice(0, -1)},"parts":${partsText(wanted)}}`;
}

/** Their texts are JSON already. */
const partsText = (parts: readonly (Part | undefined)[]): string =>
  `{${parts.flatMap((part) => (part === undefined ? [] : [`"${part.hash}":${part.text}`])).join(",")}}`;

/** What the dot has beside the machine. */
function objectsOf({ world, subject, object }: RenderQuestion): {
  readonly task: Renderable | undefined;
  readonly stage: Renderable | undefined;
  readonly env: Renderable | undefined;
} {
  const { collection, machine } = subject;
  return {
    task: collection === "tasks" ? object : undefined,
    stage: collection === "stages" ? object : machine && world.get("stages", machine.Stage),
    env: collection === "bootenvs" ? object : machine && world.get("bootenvs", machine.BootEnv),
  };
}

/** The texts of the templates are in the closure. */
const shown = (object: Task | Stage | BootEnv): object => ({
  ...object,
  Documentation: "",
  Templates: object.Templates.map((info) => ({ ...info, Contents: "" })),
});

const withoutParams = (machine: Machine): object => ({ ...machine, Params: undefined });

function tokensOf(
  names: ReadonlySet<string>,
  machine: Machine | undefined,
  world: World,
  place: RenderPlace,
): Readonly<Record<string, string>> {
  const tokens: [string, string][] = [];
  for (const name of names) {
    const token = tokenOf(name, machine, world, place);
    if (token !== undefined) tokens.push([name, token]);
  }
  return Object.fromEntries(tokens);
}

const infiniteSeconds = 3 * 365 * 24 * 3600;
/** What 0 means for tokens of profiles. */
const longestSeconds = 2_000_000_000;

/** The token that the module asks for by this name (`go/rebar/data.go`); undefined if the machine gets none. */
function tokenOf(name: string, machine: Machine | undefined, world: World, place: RenderPlace): string | undefined {
  if (name === "known") {
    const { knownTokenTimeout, unknownTokenTimeout } = world.prefs;
    return place.machineToken(machine, Number(machine === undefined ? unknownTokenTimeout : knownTokenTimeout));
  }
  if (machine === undefined) return undefined;
  if (name === "infinite") return place.machineToken(machine, infiniteSeconds);
  const [, seconds, profile] = /^profile:(-?\d+):(.*)$/s.exec(name) ?? [];
  if (profile === undefined || !machine.Profiles.includes(profile)) return undefined;
  // Clients know this text.
  if (world.get("profiles", profile) === undefined) return "InvalidTokenNotAllowedNoProfile";
  return place.profileToken(profile, Number(seconds) > 0 ? Number(seconds) : longestSeconds);
}

/** The param that templates find repositories in. */
const repositories = "package-repositories";

/** The installation tree that this server has for the machine's system, as a repository; undefined: none. */
function localRepoOf(
  machine: Machine | undefined,
  world: World,
  place: Pick<RenderPlace, "hasTree">,
  provisionerUrl: string,
): { readonly tag: string; readonly arch: string; readonly url: string } | undefined {
  if (machine === undefined || machine.OS === "" || place.hasTree === undefined) return undefined;
  const arch = machine.Arch === "amd64" ? "" : `/${machine.Arch}`;
  const path = `${machine.OS}${arch}/install`;
  if (!place.hasTree(path)) return undefined;
  const bootEnv = world.all("bootenvs").find(({ OS }) => OS.Name === machine.OS);
  return { tag: bootEnv?.Name ?? machine.OS, arch: machine.Arch, url: `${provisionerUrl}/${path}` };
}
