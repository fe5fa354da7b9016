// A file of its own: what titles need is loaded only by those who make some.
export { titleOfSession } from "../../models/title.ts";
