from .traps import MakesFile as MakesFile
