"""The declarations of workflows, compared with the files that their steps read and wrote: a module for each tool."""
