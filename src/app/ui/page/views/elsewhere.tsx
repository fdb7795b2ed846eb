import { useOffer } from "../parts/hooks.ts";
import { Empty } from "../parts/states.tsx";
import { path } from "../data/router.ts";

/** What the command line shows of it. */
const pages: Readonly<Record<string, { readonly title: string; readonly commands: readonly string[] }>> = {
  fleet: { title: "Fleet", commands: ["slipway get agents -A", "slipway get hardware -A"] },
  approvals: {
    title: "Approvals",
    commands: ["slipway status", "slipway approve RUN STEP", "slipway reject RUN STEP"],
  },
  new: { title: "Start", commands: ["slipway run FILE", "slipway lint FILE", "slipway simulate FILE"] },
  resources: { title: "Resources", commands: ["kubectl api-resources", "slipway get KIND -A"] },
  schedules: { title: "Schedules", commands: ["slipway get scheduledworkflows -A"] },
  events: { title: "Events", commands: ["kubectl get events -A"] },
  system: { title: "System", commands: ["slipway status"] },
};

export function View() {
  const page = pages[path.value.split("/")[1] ?? ""];
  const title = page?.title ?? "Not found";
  useOffer({ title, ...(page?.commands[0] === undefined ? {} : { command: page.commands[0] }) });
  return (
    <>
      <h1 tabIndex={-1}>{title}</h1>
      <Empty
        title={page === undefined ? "There is no such page" : "Use the command line"}
        commands={page?.commands ?? []}
      >
        <p>{page === undefined ? "Choose one of the pages above." : "These commands show and change the same:"}</p>
      </Empty>
    </>
  );
}
