import type { Preview } from "./preview.ts";

export function previewText({ workflow, template, hardware, timeout, tasks = [] }: Preview): string {
  const subject = workflow === undefined ? `template ${template}` : `workflow ${workflow}, template ${template}`;
  const lines = [`${subject}${hardware === undefined ? "" : `, hardware ${hardware}`}${limit(timeout)}`];
  for (const { name, agentID, actions } of tasks) {
    lines.push(`  ${name === undefined ? "" : `task ${name}, `}agent ${agentID}`);
    for (const [at, { name: action, image, timeout: own, ...rest }] of actions.entries()) {
      lines.push(`    ${at + 1}. ${action}${limit(own)}`, `       image: ${image}`, ...detailsOf(rest));
    }
  }
  return `${lines.join("\n")}\n`;
}

const limit = (seconds: number | undefined): string => (seconds === undefined ? "" : `, at most ${seconds} s`);

/** As JSON, so that it is clear where an argument ends. */
const detailsOf = (details: object): readonly string[] =>
  Object.entries(details).map(
    ([key, value]: [string, unknown]) => `       ${key}: ${typeof value === "string" ? value : JSON.stringify(value)}`,
  );

export function fleetText(previews: readonly Preview[]): string {
  return previews
    .map(({ hardware = "", tasks, template, workflow }) => {
      const name = `${workflow ?? template} for ${hardware}`;
      if (tasks === undefined) return `failed   ${name}\n`;
      const count = tasks.reduce((sum, { actions }) => sum + actions.length, 0);
      const agents = [...new Set(tasks.map(({ agentID }) => agentID))].join(", ");
      return `rendered ${name}: ${count} ${count === 1 ? "action" : "actions"}, agent ${agents}\n`;
    })
    .join("");
}
