import { type InTurn, messageOf, serializer } from "#lib/base/index.ts";
import { BlobRefusal, type BlobStore, segmentsOf } from "#kernel/artifacts/index.ts";
import { DoorRefusal, sendBytes } from "#kernel/doors/index.ts";
import type { Machine, TemplateInfo } from "../objects.ts";
import type { JobAction, RenderSubject } from "../render.ts";
import type { World } from "../world.ts";
import { type Exchange, targetOf } from "./handler.ts";
import type { ApiParts } from "./parts.ts";
import { Readable } from "node:stream";

/** Read-only: `files`, `isos`, installation trees, and templates as rendered for machines. */
export function staticHandler(parts: ApiParts): (exchange: Exchange) => Promise<void> {
  const rendering = turns();
  return async (exchange) => {
    const { request, response } = exchange;
    const refuse = (code: number) => {
      if (response.headersSent) response.destroy();
      else response.writeHead(code, { "Content-Length": 0 }).end();
    };
    try {
      if (request.method !== "GET" && request.method !== "HEAD") return refuse(404);
      if (!(await serve(parts, rendering, exchange))) refuse(404);
    } catch (thrown) {
      if (thrown instanceof BlobRefusal || thrown instanceof URIError) return refuse(404);
      if (thrown instanceof DoorRefusal) throw thrown;
      parts.log.error("serving a file failed", { error: messageOf(thrown) });
      refuse(500);
    }
  };
}

/** One search for a rendered path at a time: strangers may ask for any path, and rendering costs. */
const turns = (): InTurn =>
  serializer({
    mostWaiting: 64,
    refusal: () =>
      new DoorRefusal("service-unavailable", "too many files are being rendered", { headers: { "retry-after": "5" } }),
  });

async function serve(parts: ApiParts, rendering: InTurn, exchange: Exchange): Promise<boolean> {
  const { request } = exchange;
  const segments = segmentsOf(decodeURIComponent(targetOf(request.url ?? "/").path));
  const [first = "", ...rest] = segments;
  if (first === "files" || first === "isos") {
    return await sendBlob(parts[first], rest.join("/"), exchange);
  }
  if (await sendBlob(parts.trees, segments.join("/"), exchange)) return true;
  const path = `/${segments.join("/")}`;
  const action = await rendering(() => renderedAt(parts, path));
  if (action === undefined) return false;
  if (action.Link !== undefined) return await sendBlob(parts.files, action.Link, exchange);
  const bytes = Buffer.from(action.Content);
  sendBytes(exchange, {
    size: bytes.length,
    contentType: "text/plain; charset=utf-8",
    read: (start, end) => Readable.from([bytes.subarray(start, end)]),
  });
  return true;
}

async function sendBlob(store: BlobStore, path: string, exchange: Exchange): Promise<boolean> {
  const blob = await store.find(path);
  if (blob === undefined) return false;
  sendBytes(exchange, {
    size: blob.size,
    contentType: "application/octet-stream",
    read: (start, end) => store.read(blob, start, end),
  });
  return true;
}

/**
 * The template that is rendered to this path now. Paths may contain anything of a machine, so every machine is asked;
 * those whose UUID, name or address the path contains come first, which finds nearly all.
 */
async function renderedAt(parts: ApiParts, path: string): Promise<JobAction | undefined> {
  const { world } = parts.store;
  const unknown = await renderedFor(parts, undefined, path);
  if (unknown !== undefined) return unknown;
  const machines = world.all("machines");
  const named = machines.filter((machine) => isNamedIn(machine, path));
  for (const machine of named) {
    const content = await renderedFor(parts, machine, path);
    if (content !== undefined) return content;
  }
  const others = machines.filter((machine) => !named.includes(machine)).slice(0, mostOthers);
  for (const machine of others) {
    const content = await renderedFor(parts, machine, path);
    if (content !== undefined) return content;
  }
  return undefined;
}

const mostOthers = 20;

const isNamedIn = ({ Uuid, Name, Address, HardwareAddrs }: Machine, path: string): boolean => {
  const lower = path.toLowerCase();
  const hex = Address.split(".")
    .map((part) => Number(part).toString(16).padStart(2, "0"))
    .join("");
  return [Uuid, Name, Address, hex, ...HardwareAddrs.flatMap((mac) => [mac, mac.replaceAll(":", "-")])].some(
    (word) => word.length > 2 && lower.includes(word.toLowerCase()),
  );
};

async function renderedFor(
  { store: { world }, renderer }: ApiParts,
  machine: Machine | undefined,
  path: string,
): Promise<JobAction | undefined> {
  const mac = machine?.HardwareAddrs.find((address) => isMacIn(address, path));
  for (const { subject, templates } of subjectsOf(world, machine)) {
    if (!templates.some(({ Path }) => canBeAt(Path, path))) continue;
    const rendered = await renderer.actions(world, { ...subject, machine, os: "", path, ...(mac && { mac }) });
    const action = rendered.ok ? rendered.value.find(({ Path }) => Path.replace(/^\/*/, "/") === path) : undefined;
    if (action !== undefined) return action;
  }
  return undefined;
}

/** Whether a template's path, whose text begins like this, may become this one. */
function canBeAt(template: string, path: string): boolean {
  // What has to be cleaned is not compared.
  if (/\/\.|\/\/|^\./.test(template)) return true;
  const [literal = "", ...rest] = template.replace(/^\/*/, "/").split("{{");
  return rest.length === 0 ? literal === path : path.startsWith(literal);
}

const isMacIn = (mac: string, path: string): boolean =>
  [mac, mac.replaceAll(":", "-")].some((word) => path.toLowerCase().includes(word.toLowerCase()));

interface Candidate {
  readonly subject: Pick<RenderSubject, "collection" | "name">;
  readonly templates: readonly TemplateInfo[];
}

function subjectsOf(world: World, machine: Machine | undefined): readonly Candidate[] {
  const bootEnv = machine === undefined ? (world.prefs["unknownBootEnv"] ?? "") : machine.BootEnv;
  const stage = machine?.Stage ?? "";
  return [
    { subject: { collection: "bootenvs", name: bootEnv }, templates: world.get("bootenvs", bootEnv)?.Templates ?? [] },
    { subject: { collection: "stages", name: stage }, templates: world.get("stages", stage)?.Templates ?? [] },
  ];
}
