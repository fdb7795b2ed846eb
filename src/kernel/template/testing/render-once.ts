// A program that renders one template and has nothing else to do: it must end by itself, and say nothing of how it is done.
import { systemClock } from "#lib/base/index.ts";
import { TemplateHost } from "../template-host.ts";

const [program = "", artifact = ""] = process.argv.slice(2);
const host = new TemplateHost({ program, artifact, clock: systemClock });
const text = "name: x\ntasks: [{name: a, worker: w, actions: [{name: b, image: i}]}]";
const rendered = await host.render({ id: "wf", text, values: {} });
process.stdout.write(rendered.ok ? rendered.value.name : rendered.error.message);
