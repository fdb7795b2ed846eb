export { absentPatience, awaitServer, type Look, startingPatience, type Waiting } from "./await-server.ts";
export { findServer, noteDirectories, readToken, type SoughtServer } from "./find-server.ts";
export { colorsFor, type Paint, paintFor } from "./paint.ts";
export { NoDocuments, readSources, type SourcePlace, type SourceText } from "./source-texts.ts";
export { fit, formatTable } from "./table.ts";
