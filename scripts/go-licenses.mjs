// The licences of everything that is linked into the template module: Go itself, and each module with its texts.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";

/** As `go list` knows them: what a build for this target links, and nothing that only tests need. */
function linkedModules(directory, env) {
  const format = "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}{{end}}";
  const listed = execFileSync("go", ["list", "-deps", "-f", format, "."], { cwd: directory, env, encoding: "utf8" });
  const lines = [...new Set(listed.split("\n").filter(Boolean))];
  // By code units: the order of nobody's language.
  lines.sort((a, b) => (a < b ? -1 : 1));
  return lines.map((line) => {
    const [path, version, folder] = line.split("\t");
    return { name: `${path} ${version}`, folder };
  });
}

const isLicense = (name) => /^(?:licen[cs]e|copying|notice|patents)/i.test(name);

/** Go's distributions keep the licence in the root; Debian's elsewhere. */
function licenseOfGo(env) {
  const folder = execFileSync("go", ["env", "GOROOT"], { env, encoding: "utf8" }).trim();
  return [folder, "/usr/share/doc/golang-go"].find((place) => existsSync(`${place}/LICENSE`)) ?? folder;
}

/** One text: each module's name and version, then its licence and notices. */
export function licensesOf(directory, env, goVersion) {
  const parts = [{ name: `Go ${goVersion}`, folder: licenseOfGo(env) }, ...linkedModules(directory, env)];
  const chapters = parts.map(({ name, folder }) => {
    const files = readdirSync(folder).filter(isLicense).sort();
    if (files.length === 0) throw new Error(`${name} has no licence in ${folder}`);
    const texts = files.map((file) => `--- ${file}\n\n${readFileSync(`${folder}/${file}`, "utf8").trim()}\n`);
    return `=== ${name}\n\n${texts.join("\n")}`;
  });
  return `The template module (template.wasm.br) is made of the following.\n\n${chapters.join("\n")}`;
}
